import { expect, test, vi } from 'vitest'
import { itemsOf, StructuredStreams } from './structured-streams.ts'

const set = (streamId: string, value: unknown) => ({
  type: 'structured-data',
  streamId,
  dataType: 'd',
  kind: 'set',
  path: 'x',
  value,
})

test('continues with other listeners and the stream if one throws, and does not call removed listeners', async () => {
  const logged = vi.spyOn(console, 'error').mockImplementation(() => {})
  const streams = new StructuredStreams(0)
  const calls: string[] = []
  streams.subscribe(() => {
    unsubscribe()
    throw new Error('broken')
  })
  const unsubscribe = streams.subscribe(() => void calls.push('removed'))
  streams.subscribe(() => void calls.push('called'))
  await streams.consume(
    (async function* () {
      yield set('a', 1)
      yield { chunk: set('b', 2) }
    })(),
  )
  expect(calls).toEqual(['called', 'called', 'called'])
  expect(streams.value.items.map(({ streamId }) => streamId)).toEqual(['a', 'b'])
  expect(logged).toHaveBeenCalledTimes(3)
  logged.mockRestore()
})

test('finds nothing by an id that is only a property of Object.prototype', () => {
  const streams = new StructuredStreams(0)
  expect(streams.value.byStreamId['constructor']).toBeUndefined()
  streams.apply(set('__proto__', 1))
  const [[id, item] = []] = Object.entries(streams.value.byStreamId)
  expect([id, item]).toMatchObject(['__proto__', { streamId: '__proto__', data: { x: 1 } }])
  expect(itemsOf([]).byStreamId['toString']).toBeUndefined()
})

test('stops consuming on abort, also while the stream is silent, and calls its return', async () => {
  const streams = new StructuredStreams(0)
  const controller = new AbortController()
  const returned = vi.fn(async () => ({ done: true, value: undefined }) as const)
  const values = [set('a', 1)]
  const never = new Promise<never>(() => {})
  const next = () => {
    const value = values.shift()
    if (value === undefined) controller.abort()
    return value === undefined ? never : Promise.resolve({ done: false, value })
  }
  await streams.consume({ [Symbol.asyncIterator]: () => ({ next, return: returned }) }, controller.signal)
  expect(streams.get('a')?.data).toEqual({ x: 1 })
  expect(returned).toHaveBeenCalledOnce()
  await streams.consume(streamOf(set('a', 2)), controller.signal)
  expect(streams.get('a')?.data).toEqual({ x: 1 })
})

const streamOf = async function* (...chunks: unknown[]) {
  yield* chunks
}

test('starts a finished object over with the next stream, and continues an unfinished one', async () => {
  const streams = new StructuredStreams(0)
  const done = { type: 'structured-data', streamId: 'a', dataType: 'd', kind: 'final', data: { x: 1 } }
  await streams.consume(streamOf(set('a', 1), done))
  await streams.consume(streamOf(set('a', 2)))
  expect(streams.get('a')).toMatchObject({ status: 'streaming', data: { x: 2 } })
  await streams.consume(streamOf({ ...set('a', 3), path: 'y' }))
  expect(streams.get('a')?.data).toEqual({ x: 2, y: 3 })
  await expect(streams.consume(streamOf(done, set('a', 4)))).rejects.toThrow()
})
