import { expect, test, vi } from 'vitest'
import { itemsOf, StructuredStreams } from './streams.ts'

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
