import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { multiplied } from '../../../../scripts/faults/campaign.ts'
import { chatOf, type Value } from './chat.fixture.ts'
import { ChunkOrder } from './chunk-order.ts'
import type { ChatMessageChunk, ChatStreamEnvelope } from './types.ts'

const runs = (n: number) => ({ numRuns: multiplied(n) })
const delta = (text: string): ChatMessageChunk => ({ type: 'text-delta', id: 't', delta: text })
const start: ChatMessageChunk = { type: 'start', messageId: 'a1' }
const finish: ChatMessageChunk = { type: 'finish', messageId: 'a1' }
const envelope = (sequence: number | undefined, chunk: ChatMessageChunk, eventId?: string): ChatStreamEnvelope => ({
  ...(eventId !== undefined && { eventId }),
  ...(sequence !== undefined && { sequence }),
  chunk,
})

/** The ordered chunks, as a short text. */
const ordered = (values: readonly unknown[], order = new ChunkOrder()): string => {
  const chunks = [...values.flatMap(value => order.push(value)), ...order.release()]
  return chunks.map(chunk => (chunk.type === 'text-delta' ? chunk.delta : chunk.type)).join(' ')
}

/** A trace of sixteen envelopes: out of order, repeated by event, by sequence and by both, with one from before its beginning. */
const golden: readonly Value[] = [
  envelope(2, { type: 'text-start', id: 't' }, 'e2'),
  envelope(1, start, 'e1'),
  envelope(4, delta('lo'), 'e4'),
  envelope(3, delta('Hel'), 'e3'),
  envelope(3, delta('Hel'), 'e3'),
  envelope(5, { type: 'text-end', id: 't' }, 'e5'),
  envelope(0, delta('before'), 'e0'),
  envelope(8, { type: 'tool-output-available', toolCallId: 'c', output: 7 }, 'e8'),
  envelope(6, { type: 'tool-input-start', toolCallId: 'c', toolName: 'add' }, 'e6'),
  envelope(8, { type: 'tool-output-available', toolCallId: 'c', output: 8 }, 'e8'),
  envelope(7, { type: 'tool-input-available', toolCallId: 'c', toolName: 'add', input: { a: 3 } }, 'e7'),
  envelope(undefined, { type: 'data-note', data: 'n' }, 'e9'),
  envelope(undefined, { type: 'data-note', data: 'n' }, 'e9'),
  envelope(10, finish, 'e11'),
  envelope(9, { type: 'start-step' }, 'e10'),
  envelope(11, delta('after'), 'e12'),
]

describe('ChunkOrder', () => {
  test('returns one reply without duplicates for a golden trace of sixteen envelopes', async () => {
    const { turn, messages, log, calls } = chatOf(golden)
    await turn()
    expect(messages()[1]).toMatchObject({
      id: 'a1',
      status: 'sent',
      parts: [
        { type: 'text', text: 'Hello', state: 'done' },
        { type: 'tool', toolInvocation: { state: 'output-available', input: { a: 3 }, output: 7 } },
        { type: 'data-note', data: 'n' },
        { type: 'step-start' },
      ],
    })
    expect(calls.data).toHaveLength(1)
    expect(log.at(-1)).toBe('finish')
    expect(calls.finishes).toHaveLength(1)
  })

  test('accepts raw chunks among envelopes, and keeps chunks without a sequence behind the chunk before them', () => {
    expect(ordered([start, envelope(1, delta('a')), delta('b'), envelope(2, delta('c')), finish])).toBe(
      'start a b c finish',
    )
    expect(ordered([envelope(1, start), envelope(3, delta('c')), delta('d'), envelope(2, delta('b')), finish])).toBe(
      'start b c d finish',
    )
  })

  test('begins with start, or with the lowest of the first sequences', () => {
    expect(ordered([envelope(6, delta('b')), envelope(5, start), envelope(7, finish)])).toBe('start b finish')
    expect(ordered([start, envelope(2, delta('b')), envelope(1, delta('a')), envelope(3, finish)])).toBe(
      'start a b finish',
    )
    expect(ordered([envelope(0, delta('a')), envelope(1, delta('b'))])).toBe('a b')
    const many = Array.from({ length: 16 }, (_, i) => envelope(100 - i, delta(`${100 - i}`)))
    expect(ordered(many)).toBe(many.map((_, i) => 85 + i).join(' '))
  })

  test('drops a sequence below the next one', () => {
    expect(
      ordered([envelope(1, start), envelope(2, delta('a')), envelope(0, delta('x')), envelope(2, delta('y'))]),
    ).toBe('start a')
  })

  test('keeps the first of two chunks with one sequence, and leaves no gap after a repeated event', () => {
    expect(
      ordered([envelope(1, start), envelope(3, delta('c')), envelope(3, delta('x')), envelope(2, delta('b'))]),
    ).toBe('start b c')
    expect(ordered([envelope(1, start, 'e'), envelope(2, start, 'e'), envelope(3, delta('a'), 'f')])).toBe('start a')
  })

  test('accepts an event again that was only held when the stream dropped', () => {
    const order = new ChunkOrder()
    expect(ordered([envelope(1, start, 'e1'), envelope(3, delta('c'), 'e3')], order)).toBe('start')
    expect(order.hasGap).toBe(true)
    order.close()
    expect(order.hasGap).toBe(false)
    const again = [envelope(1, start, 'e1'), envelope(2, delta('b'), 'e2'), envelope(3, delta('c'), 'e3')]
    expect(ordered([...again, envelope(4, finish, 'e4')], order)).toBe('b c finish')
  })

  test('returns nothing after finish or abort', () => {
    expect(ordered([envelope(1, start), envelope(3, delta('x')), envelope(2, finish), delta('y')])).toBe('start finish')
  })

  test('law 8: bounds the chunks that wait for a missing one', () => {
    const order = new ChunkOrder()
    order.push(envelope(1, start))
    const flood = () => {
      for (let i = 0; i < 2000; i++) order.push(envelope(3 + i, delta('x')))
    }
    expect(flood).toThrow('expected sequence 2, found 1024 others')
  })

  test('law 8: bounds the remembered events, and recognises the latest ones', () => {
    const order = new ChunkOrder()
    for (let i = 0; i < 20_000; i++) order.push(envelope(undefined, delta('x'), `e${i}`))
    expect(order.push(envelope(undefined, delta('x'), 'e19999'))).toEqual([])
    expect(order.push(envelope(undefined, delta('x'), 'e10000'))).toEqual([])
    expect(order.push(envelope(undefined, delta('x'), 'e0'))).toHaveLength(1)
  })

  test.each([
    [null, 'expected a chunk or an envelope, found null'],
    ['text', 'expected a chunk or an envelope, found string'],
    [{}, 'expected a chunk with a type, found an object with the keys none'],
    [{ chunk: null }, 'expected a chunk with a type, found null'],
    [{ chunk: start, sequence: '1' }, 'expected a whole number as sequence, found "1"'],
    [{ chunk: start, sequence: Number.NaN }, 'expected a whole number as sequence, found NaN'],
    [{ chunk: start, eventId: 7 }, 'expected a string as eventId, found number'],
    [new TextEncoder().encode('data: {}'), 'expected a chunk with a type, found bytes'],
  ])('rejects an invalid value and names it: %j', async (value, problem) => {
    expect(() => new ChunkOrder().push(value)).toThrow(problem)
    const { turn, log, calls, messages } = chatOf([start, delta('Hel'), value, delta('lo'), finish])
    await turn()
    expect(log).toEqual(['error STREAM_ERROR', 'finish disconnect error'])
    expect(calls.errors).toMatchObject([{ message: expect.stringContaining(`chunk 3 of the stream: ${problem}`) }])
    expect(messages()[1]).toMatchObject({ status: 'error', parts: [{ text: 'Hel' }] })
  })

  test('names the missing field of a chunk', async () => {
    const { turn, calls } = chatOf([start, { type: 'tool-input-delta', toolCallId: 'c' }, finish])
    await turn()
    expect(calls.errors).toMatchObject([
      { message: 'chunk tool-input-delta.inputTextDelta: expected a string, found undefined' },
    ])
  })

  test('treats a gap at the close as a dropped stream', async () => {
    const gap = chatOf([envelope(1, start), envelope(2, delta('a')), envelope(4, finish)])
    await gap.turn()
    expect(gap.log).toEqual(['error STREAM_ERROR', 'finish disconnect error'])
    expect(gap.textOf('a1')).toEqual(['a'])
    const late = chatOf([envelope(5, delta('a')), envelope(7, finish)])
    await late.turn()
    expect(late.log).toEqual(['error STREAM_ERROR', 'finish disconnect error'])
  })

  test('returns the same chunks for a trace however it is repeated and reordered within the bound', () => {
    const plain = [start, ...'the quick brown fox'.split('').map(delta), finish]
    const expected = ordered(plain)
    fc.assert(
      fc.property(
        fc.array(fc.record({ far: fc.nat(12), twice: fc.boolean() }), {
          minLength: plain.length,
          maxLength: plain.length,
        }),
        fc.constantFrom('both', 'sequence'),
        fc.nat(1000),
        (moves, names, base) => {
          const values = plain.flatMap((chunk, i) => {
            const { far, twice } = moves[i] as { far: number; twice: boolean }
            const value = envelope(base + i, chunk, names === 'both' ? `e${i}` : undefined)
            return [{ at: i + far, value }, ...(twice ? [{ at: i + far + 5, value }] : [])]
          })
          expect(ordered(values.sort((a, b) => a.at - b.at).map(({ value }) => value))).toBe(expected)
        },
      ),
      runs(300),
    )
  })
})
