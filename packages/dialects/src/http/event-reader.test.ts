import fc from 'fast-check'
import { expect, test } from 'vitest'
import { multiplied } from '../../../../scripts/faults/campaign.ts'
import { EventReader, formatOf, readEvents, type WireEvent } from './event-reader.ts'

const runs = multiplied(100)

/** The events of a body that is split at these positions. */
function read(bytes: Uint8Array, cuts: readonly number[], format: 'sse' | 'ndjson' = 'sse'): WireEvent[] {
  const reader = new EventReader(format)
  const ends = [...cuts.map(cut => cut % (bytes.length + 1)), bytes.length].sort((a, b) => a - b)
  let from = 0
  const events = ends.flatMap(to => {
    const piece = bytes.subarray(from, to)
    from = to
    return reader.push(piece)
  })
  return [...events, ...reader.end()]
}

const bytesOf = (text: string) => new TextEncoder().encode(text)

test('parses Server-Sent Events by the standard: names, ids that persist, several data lines, comments, all line ends', () => {
  const text = '\uFEFF: hi\r\nid: 7\nevent: note\ndata: one\ndata:two\n\nretry: 3\ndata\r\r\ndata: {"é":1}\n\ndata: cut'
  const events = [
    { id: '7', event: 'note', data: 'one\ntwo' },
    { id: '7', data: '' },
    { id: '7', data: '{"é":1}' },
  ]
  expect(read(bytesOf(text), [])).toEqual(events)
  fc.assert(
    fc.property(fc.array(fc.nat()), cuts => {
      expect(read(bytesOf(text), cuts)).toEqual(events)
    }),
    { numRuns: runs },
  )
})

test('ignores an id with NUL, and takes an empty id', () => {
  expect(read(bytesOf('id: a\0b\ndata: 1\n\nid\ndata: 2\n\n'), [])).toEqual([{ data: '1' }, { id: '', data: '2' }])
})

test('parses lines of JSON: skips blank ones, takes a last one without a line end, drops a cut one', () => {
  expect(read(bytesOf('{"a":1}\n\n \n{"b":2}'), [3], 'ndjson')).toEqual([{ data: '{"a":1}' }, { data: '{"b":2}' }])
  expect(read(bytesOf('{"a":1}\n{"b":'), [], 'ndjson')).toEqual([{ data: '{"a":1}' }])
})

test('law 8: rejects an event that is too long, also before it ends', () => {
  for (const text of ['data: 123456789\n', 'data: 1234567890', 'data: 12345\ndata: 6789']) {
    expect(() => new EventReader('sse', 8).push(`${text}\n`), text).toThrow('expected at most 8 characters')
  }
  expect(() => new EventReader('ndjson', 8).push('123456789')).toThrow('expected at most 8 characters')
})

test('takes the format from the content type', () => {
  const formatOfType = (type: string) => formatOf(new Response('', { headers: { 'content-type': type } }))
  expect(formatOfType('application/x-ndjson; charset=utf-8')).toBe('ndjson')
  expect(formatOfType('application/jsonl')).toBe('ndjson')
  expect(formatOfType('text/event-stream')).toBe('sse')
})

test('reads a body on demand, and cancels it when the loop is left', async () => {
  let pulls = 0
  const cancelled = Promise.withResolvers<void>()
  const body = new ReadableStream<Uint8Array>(
    { pull: controller => controller.enqueue(bytesOf(`data: ${++pulls}\n\n`)), cancel: () => cancelled.resolve() },
    { highWaterMark: 0 },
  )
  for await (const [event] of readEvents(body)) if (event?.data === '2') break
  await cancelled.promise
  expect(pulls).toBe(2)
})

test('returns marks only with `withMarks`', () => {
  const text = 'data: a\n\nid: 1\n\n: alive\n\nid: 2\ndata: b\n\nevent: x\n\n'
  expect(new EventReader().push(text)).toEqual([{ data: 'a' }, { id: '2', data: 'b' }])
  expect(new EventReader('sse', undefined, true).push(text)).toEqual([
    { data: 'a' },
    { id: '1', data: '' },
    { id: '2', data: 'b' },
  ])
})

test('keeps the events before one that is too long', () => {
  const events: WireEvent[] = []
  const text = 'data: a\n\ndata: 123456789\n\ndata: b\n\n'
  expect(() => new EventReader('sse', 8).push(text, events)).toThrow('expected at most 8 characters')
  expect(events).toEqual([{ data: 'a' }])
})

test.each([
  ['sse', 'data: a\n\ndata: {"b":', '{"b":'],
  ['sse', 'data: a\n\ndata: b\n', 'b'],
  ['sse', 'data: a\n\n: comment', undefined],
  ['ndjson', '1\n{"b":', '{"b":'],
  ['ndjson', '1\n2', undefined],
  ['ndjson', '1\n', undefined],
] as const)('knows the event that a body ended in: %s %j', (format, text, incomplete) => {
  const reader = new EventReader(format)
  reader.push(text)
  reader.end()
  expect(reader.incomplete).toBe(incomplete)
})
