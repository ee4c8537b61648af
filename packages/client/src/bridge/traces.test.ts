import fc from 'fast-check'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { multiplied } from '../../../../scripts/faults/campaign.ts'
import { chatOf } from './chat.fixture.ts'
import type { ChatMessageChunk } from './types.ts'

// A reply waits a short time for its first chunk. No timer runs here, so a busy machine cannot end that wait.
beforeAll(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterAll(() => void vi.useRealTimers())

const runs = (n: number) => ({ numRuns: multiplied(n) })

/** Pieces of a reply, in any order, legal or not. */
const piece: fc.Arbitrary<ChatMessageChunk> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('text-delta' as const),
      id: fc.constantFrom('x', 'y'),
      delta: fc.string(),
    }),
  },
  fc.record({ type: fc.constantFrom('text-start' as const, 'text-end' as const), id: fc.constantFrom('x', 'y') }),
  fc.record({ type: fc.constant('reasoning-delta' as const), id: fc.constant('x'), delta: fc.string() }),
  fc.record({
    type: fc.constant('tool-input-start' as const),
    toolCallId: fc.constantFrom('c', 'd'),
    toolName: fc.constant('n'),
  }),
  fc.record({
    type: fc.constant('tool-input-delta' as const),
    toolCallId: fc.constantFrom('c', 'd'),
    inputTextDelta: fc.constantFrom('{"a":', '[1,', '2'),
  }),
  fc.record({
    type: fc.constantFrom('tool-input-available' as const, 'tool-approval-request' as const),
    toolCallId: fc.constantFrom('c', 'd'),
    toolName: fc.constant('n'),
    input: fc.json().map(text => JSON.parse(text)),
  }),
  fc.record({
    type: fc.constant('tool-output-available' as const),
    toolCallId: fc.constantFrom('c', 'd'),
    output: fc.nat(),
  }),
  fc.record({
    type: fc.constantFrom('tool-output-error' as const, 'tool-input-error' as const),
    toolCallId: fc.constantFrom('c', 'd'),
    errorText: fc.constant('no'),
  }),
  fc.record({ type: fc.constant('tool-output-denied' as const), toolCallId: fc.constantFrom('c', 'd') }),
  fc.record({
    type: fc.constant('data-n' as const),
    data: fc.nat(),
    id: fc.constantFrom('i', undefined),
    transient: fc.boolean(),
  }),
  fc.record({ type: fc.constant('source-url' as const), sourceId: fc.constantFrom('s', 't'), url: fc.string() }),
  fc.constant({ type: 'start-step' as const }),
)

const messagesOf = async (values: readonly unknown[]) => {
  const { turn, messages, calls } = chatOf(values)
  await turn()
  return {
    messages: messages().map(({ createdAt, ...message }) => message),
    data: calls.data,
    tools: calls.tools,
    finishes: calls.finishes.length,
  }
}

/** The trace with each delta split into pieces of `size` characters. */
const split = (chunks: readonly ChatMessageChunk[], size: number): ChatMessageChunk[] =>
  chunks.flatMap(chunk => {
    const isText = chunk.type === 'text-delta' || chunk.type === 'reasoning-delta'
    if (!isText || chunk.delta.length <= size) return [chunk]
    const pieces = chunk.delta.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []
    return pieces.map(delta => ({ ...chunk, delta }))
  })

test('law 9: shows the same messages for a trace, however it is split, repeated and reordered', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(piece, { maxLength: 40 }),
      fc.integer({ min: 1, max: 5 }),
      fc.infiniteStream(fc.record({ far: fc.nat(12), twice: fc.boolean() })),
      async (pieces, size, moves) => {
        const chunks: ChatMessageChunk[] = [
          { type: 'start', messageId: 'a1' },
          ...pieces,
          { type: 'finish', messageId: 'a1' },
        ]
        const expected = await messagesOf(chunks)
        expect(expected.finishes).toBe(1)
        expect(expected.messages[1]?.status).toBe('sent')
        for (const part of expected.messages[1]?.parts ?? []) if ('state' in part) expect(part.state).toBe('done')
        const values = split(chunks, size).flatMap((chunk, sequence) => {
          const { far, twice } = moves.next().value
          const value = { eventId: `e${sequence}`, sequence, chunk }
          return [{ at: sequence + far, value }, ...(twice ? [{ at: sequence + far + 4, value }] : [])]
        })
        const moved = values.sort((a, b) => a.at - b.at).map(({ value }) => value)
        expect(await messagesOf(moved)).toEqual(expected)
      },
    ),
    runs(150),
  )
})
