import type { Chunk } from '@millrace/protocol'
import { expect, test } from 'vitest'
import { type TanstackChunk, type TanstackStreamChunk, tanstackDialect } from './index.ts'

type Bare = TanstackStreamChunk extends infer C
  ? C extends TanstackStreamChunk
    ? Omit<C, 'id' | 'model' | 'timestamp'>
    : never
  : never

/** Decodes events of TanStack AI. Returns the chunks and the state of the run after each event. */
function decodeAll(...events: readonly Bare[]) {
  const decoder = tanstackDialect.decoder()
  const states: (string | undefined)[] = []
  const chunks = events.flatMap(event => {
    const decodedChunks = decoder.decode({ id: 'reply', model: 'm', timestamp: 1, ...event } as TanstackChunk)
    states.push(decoder.status)
    return decodedChunks.map(({ chunk }) => chunk)
  })
  return { chunks, states, status: decoder.status }
}

const call = (id: string, name: string, args: string, index = 0): Bare => ({
  type: 'tool_call',
  toolCall: { id, type: 'function', function: { name, arguments: args } },
  index,
})

test('decodes text by its delta or by the growth of its content', () => {
  const { chunks, states } = decodeAll(
    { type: 'content', delta: 'One', content: 'anything' },
    { type: 'content', delta: ' two', content: '' },
    { type: 'done', finishReason: 'stop' },
    { type: 'content', content: 'Thr' },
    { type: 'content', content: 'Three' },
    { type: 'done', finishReason: 'stop', usage: { promptTokens: 1, completionTokens: 2, totalTokens: 3 } },
  )
  expect(chunks).toEqual([
    { type: 'text-delta', id: 'reply/text-0', delta: 'One' },
    { type: 'text-delta', id: 'reply/text-0', delta: ' two' },
    { type: 'step-finish', finishReason: 'stop' },
    { type: 'text-delta', id: 'reply/text-1', delta: 'Thr' },
    { type: 'text-delta', id: 'reply/text-1', delta: 'ee' },
    { type: 'step-finish', finishReason: 'stop', usage: { inputTokens: 1, outputTokens: 2, totalTokens: 3 } },
  ])
  expect(states).toEqual([undefined, undefined, 'completed', undefined, undefined, 'completed'])
})

test('identifies calls by id and completes them at the end of the turn', () => {
  const { chunks, states } = decodeAll(
    call('a', 'weigh', '{"k":'),
    call('b', 'weigh', ''),
    call('a', 'weigh', '1}'),
    call('b', 'weigh', '{', 7),
    { type: 'done', finishReason: 'tool_calls' },
    { type: 'tool_result', toolCallId: 'a', content: '{"kilos":1}' },
    { type: 'tool_result', toolCallId: 'b', content: '{"error":"no"}' },
  )
  expect(chunks.filter(({ type }) => type !== 'tool-input-start' && type !== 'tool-input-delta')).toEqual([
    { type: 'tool-input-available', toolCallId: 'a', toolName: 'weigh', input: { k: 1 } },
    {
      type: 'tool-input-error',
      toolCallId: 'b',
      toolName: 'weigh',
      errorText: 'The input is not JSON.',
      partialInput: '{',
    },
    { type: 'step-finish', finishReason: 'tool-calls' },
    { type: 'tool-output-available', toolCallId: 'a', output: { kilos: 1 } },
    { type: 'tool-output-error', toolCallId: 'b', errorText: 'no' },
  ] satisfies Chunk[])
  expect(chunks[1]).toEqual({ type: 'tool-input-delta', toolCallId: 'a', delta: '{"k":' })
  // law 7: a stream that ends here was cut.
  expect(states.at(-1)).toBeUndefined()
})

test('waits for approvals and client tool calls', () => {
  const decodedRequest = decodeAll(
    call('a', 'sell', '{}'),
    { type: 'done', finishReason: 'tool_calls' },
    {
      type: 'approval-requested',
      toolCallId: 'a',
      toolName: 'sell',
      input: {},
      approval: { id: 'approval_a', needsApproval: true },
    },
  )
  expect(decodedRequest.chunks.at(-1)).toEqual({
    type: 'tool-approval-request',
    toolCallId: 'a',
    toolName: 'sell',
    approvalId: 'approval_a',
    input: {},
  })
  expect(decodedRequest.status).toBe('paused')
  const client = decodeAll({ type: 'tool-input-available', toolCallId: 'a', toolName: 'locate', input: { far: true } })
  expect(client.chunks).toMatchObject([{ type: 'tool-input-available', executor: 'client', input: { far: true } }])
  expect(client.status).toBe('paused')
})

test('law 7: ends with an error and ignores later chunks', () => {
  const { chunks, status } = decodeAll(
    { type: 'error', error: { message: 'overloaded', code: 'busy' } },
    { type: 'content', delta: 'and yet', content: 'and yet' },
    { type: 'done', finishReason: 'stop' },
  )
  expect(chunks).toEqual([{ type: 'error', message: 'overloaded', code: 'busy' }])
  expect(status).toBe('failed')
})

test('rejects an invalid chunk', () => {
  const decoder = tanstackDialect.decoder()
  expect(() => decoder.decode(null as never)).toThrow('expected an object with a type')
  expect(() => decoder.decode({ type: 'millrace', id: '1', model: '', timestamp: 1 } as never)).toThrow('expected')
})
