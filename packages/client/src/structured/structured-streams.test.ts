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

test('one who throws keeps nobody else from hearing, nor the stream from going on; who has left is not called', async () => {
  const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
  const streams = new StructuredStreams(0)
  const heard: string[] = []
  streams.subscribe(() => {
    leave()
    throw new Error('broken')
  })
  const leave = streams.subscribe(() => void heard.push('left'))
  streams.subscribe(() => void heard.push('heard'))
  await streams.consume(
    (async function* () {
      yield set('a', 1)
      yield { chunk: set('b', 2) }
    })(),
  )
  expect(heard).toEqual(['heard', 'heard', 'heard'])
  expect(streams.value.items.map(({ streamId }) => streamId)).toEqual(['a', 'b'])
  expect(printed).toHaveBeenCalledTimes(3)
  printed.mockRestore()
})

test('by an id that nothing has there is nothing, whatever objects inherit', () => {
  const streams = new StructuredStreams(0)
  expect(streams.value.byStreamId['constructor']).toBeUndefined()
  streams.apply(set('__proto__', 1))
  const [[id, item] = []] = Object.entries(streams.value.byStreamId)
  expect([id, item]).toMatchObject(['__proto__', { streamId: '__proto__', data: { x: 1 } }])
  expect(itemsOf([]).byStreamId['toString']).toBeUndefined()
})

test('a stream that is consumed can be left, also while it says nothing; it is told to end', async () => {
  const streams = new StructuredStreams(0)
  const leaving = new AbortController()
  const returned = vi.fn(async () => ({ done: true, value: undefined }) as const)
  const values = [set('a', 1)]
  const never = new Promise<never>(() => {})
  const next = () => {
    const value = values.shift()
    if (value === undefined) leaving.abort()
    return value === undefined ? never : Promise.resolve({ done: false, value })
  }
  await streams.consume({ [Symbol.asyncIterator]: () => ({ next, return: returned }) }, leaving.signal)
  expect(streams.get('a')?.data).toEqual({ x: 1 })
  expect(returned).toHaveBeenCalledOnce()
  await streams.consume(of(set('a', 2)), leaving.signal)
  expect(streams.get('a')?.data).toEqual({ x: 1 })
})

const of = async function* (...chunks: unknown[]) {
  yield* chunks
}

test('an object that is done begins anew with the next stream, and one that is not goes on', async () => {
  const streams = new StructuredStreams(0)
  const done = { type: 'structured-data', streamId: 'a', dataType: 'd', kind: 'final', data: { x: 1 } }
  await streams.consume(of(set('a', 1), done))
  await streams.consume(of(set('a', 2)))
  expect(streams.get('a')).toMatchObject({ status: 'streaming', data: { x: 2 } })
  await streams.consume(of({ ...set('a', 3), path: 'y' }))
  expect(streams.get('a')?.data).toEqual({ x: 2, y: 3 })
  await expect(streams.consume(of(done, set('a', 4)))).rejects.toThrow()
})
