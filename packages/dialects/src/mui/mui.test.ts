import type { Chunk, Origin } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import { type ChatMessageChunk, type MuiEvent, muiDialect } from './index.ts'
import { ChatMessageChunkSchema, ChatRequestSchema, ChatStreamEnvelopeSchema, clientRequestOf } from './schemas.ts'

const origin: Origin = { runId: 'r', lane: 'main', agentId: 'r', agentType: 'writer', step: 1 }
const encode = (...chunks: readonly Chunk[]): MuiEvent[] => {
  const encoder = muiDialect.encoder({ runId: 'r' })
  return chunks.flatMap(chunk => encoder.encode({ chunk, origin })) as MuiEvent[]
}

describe('encoder', () => {
  test('starts the message with the first text', () => {
    expect(encode({ type: 'run-started', program: 'agent:writer@1' }).map(({ type }) => type)).toEqual(['millrace'])
    expect(encode({ type: 'text-delta', id: 't', delta: 'a' })).toEqual([
      { type: 'start', messageId: 'r::r', millrace: null },
      { type: 'text-delta', id: 't', delta: 'a' },
    ])
  })

  test('sends transient data as an extension', () => {
    const chunk = { type: 'data-creak', data: 1, transient: true } as const
    expect(encode({ type: 'start' }, chunk).slice(1)).toEqual([{ type: 'millrace', data: { chunk } }])
  })

  test('sends the metadata of start and finish separately', () => {
    const events = encode({ type: 'start', metadata: { a: 1 } }, { type: 'finish', metadata: { b: 2 } })
    expect(events.map(({ type }) => type)).toEqual(['start', 'message-metadata', 'millrace', 'message-metadata'])
  })

  test('sends the end of a message and the results of open calls with the end of the run', () => {
    const events = encode(
      { type: 'start' },
      { type: 'tool-input-start', toolCallId: 'c', toolName: 'x' },
      { type: 'finish', finishReason: 'length' },
      { type: 'run-finished', status: 'completed' },
    )
    const types = ['start', 'tool-input-start', 'millrace', 'millrace', 'tool-output-error', 'finish']
    expect(events.map(({ type }) => type)).toEqual(types)
    expect(events.at(-1)).toMatchObject({ finishReason: 'length' })
  })

  test('law 7: ends a failed run with an error and without finish', () => {
    const events = encode(
      { type: 'start' },
      { type: 'error', message: 'no more' },
      { type: 'finish', finishReason: 'error' },
      { type: 'run-finished', status: 'failed' },
    )
    expect(events.filter(({ type }) => type === 'finish')).toEqual([])
    expect(events.at(-1)).toEqual({ type: 'error', errorText: 'no more', millrace: null })
  })

  test.each([
    ['paused', { type: 'finish', finishReason: 'tool-calls' }],
    ['completed', { type: 'finish' }],
    ['interrupted', { type: 'abort' }],
    ['aborted', { type: 'abort' }],
  ] as const)('reports the end of a run once: %s', (status, end) => {
    const encoder = muiDialect.encoder({ runId: 'r' })
    encoder.encode({ chunk: { type: 'start' }, origin })
    expect(encoder.end(status)).toEqual([{ ...end, messageId: 'r::r', millrace: null }])
    expect(encoder.end(status)).toEqual([])
    expect(encoder.resume()).toEqual([{ type: 'start', messageId: 'r::r', millrace: null }])
  })

  test('introduces the call of an invalid input, and sends requests of sub-agents as parts', () => {
    const events = encode({ type: 'tool-input-error', toolCallId: 'c', toolName: 'x', errorText: 'no' })
    expect(events.map(({ type }) => type)).toEqual(['start', 'tool-input-start', 'tool-input-error'])
    const encoder = muiDialect.encoder({ runId: 'r' })
    const chunk = { type: 'tool-approval-request', toolCallId: 'c', approvalId: 'a', input: 1 } as const
    const [, approvalEvent] = encoder.encode({ chunk, origin: { ...origin, agentId: 'child', lane: 'child' } })
    expect(approvalEvent).toMatchObject({ type: 'data-millrace', id: 'approval:a', data: { chunk } })
  })

  test('sends only chunks of MUI X Chat and extensions', () => {
    const events = encode(
      { type: 'start' },
      { type: 'step-start' },
      { type: 'source-document', sourceId: 's', mediaType: 'text/plain', filename: 'n.txt' },
      { type: 'file', url: 'data:,', mediaType: 'text/plain', id: 'f' },
      { type: 'tool-input-start', toolCallId: 'c', toolName: 'x', executor: 'client' },
      { type: 'tool-input-delta', toolCallId: 'c', delta: '{' },
      { type: 'tool-approval-request', toolCallId: 'c', approvalId: 'a', input: {} },
      { type: 'step-finish', usage: { outputTokens: 1 } },
      { type: 'data-x', data: null },
      { type: 'finish' },
      { type: 'run-finished', status: 'completed' },
    )
    const muiChunks = events.filter(({ type }) => type !== 'millrace')
    expect(muiChunks.at(-1)?.type).toBe('finish')
    for (const event of muiChunks) expect(ChatMessageChunkSchema.safeParse(event).success).toBe(true)
    expect(ChatStreamEnvelopeSchema.safeParse({ eventId: '1.0', chunk: events[0] }).success).toBe(true)
    expect(ChatMessageChunkSchema.safeParse({ type: 'text-delta', id: 't' }).success).toBe(false)
  })
})

describe('decoder', () => {
  const decode = (...events: readonly ChatMessageChunk[]) => {
    const decoder = muiDialect.decoder()
    return { chunks: events.flatMap(event => decoder.decode(event)).map(({ chunk }) => chunk), decoder }
  }

  test('decodes the documented reply, raw and in envelopes', () => {
    const decoder = muiDialect.decoder()
    const decodedChunks = [
      { eventId: '1', sequence: 1, chunk: { type: 'start', messageId: 'm1' } } as const,
      { type: 'start-step' } as const,
      { type: 'text-delta', id: 't', delta: 'Hi' } as const,
      { type: 'tool-input-delta', toolCallId: 'c', inputTextDelta: '{' } as const,
      { type: 'tool-approval-request', toolCallId: 'c', toolName: 'x', input: 1 } as const,
      { type: 'tool-output-denied', toolCallId: 'c', reason: 'no' } as const,
      { type: 'finish', messageId: 'm1', finishReason: 'done' } as const,
    ].flatMap(event => decoder.decode(event))
    expect(decodedChunks.map(({ chunk }) => chunk)).toEqual([
      { type: 'start' },
      { type: 'step-start' },
      { type: 'text-delta', id: 't', delta: 'Hi' },
      { type: 'tool-input-delta', toolCallId: 'c', delta: '{' },
      { type: 'tool-approval-request', toolCallId: 'c', toolName: 'x', approvalId: 'c', input: 1 },
      { type: 'tool-output-denied', toolCallId: 'c', reason: 'no' },
      { type: 'finish', finishReason: 'other' },
    ])
    expect(new Set(decodedChunks.map(({ messageId }) => messageId))).toEqual(new Set(['m1']))
    expect(decoder.status).toBe('completed')
  })

  test('reports no status before the end (law 7), and paused with a pending approval', () => {
    expect(decode({ type: 'start' }).decoder.status).toBeUndefined()
    expect(decode({ type: 'start' }, { type: 'abort' }).decoder.status).toBe('interrupted')
    const approvalRequest = { type: 'tool-approval-request', toolCallId: 'c', toolName: 'x', input: 1 } as const
    expect(decode(approvalRequest, { type: 'finish' }).decoder.status).toBe('paused')
    const { chunks, decoder } = decode({ type: 'error', errorText: 'no' })
    expect([chunks, decoder.status]).toEqual([[{ type: 'error', message: 'no' }], 'failed'])
  })

  test.each([[null], [{}], ['text'], [{ chunk: null }], [{ type: 'data-millrace', data: {} }]])(
    'rejects a value that is not a chunk: %j',
    value => {
      expect(() => muiDialect.decoder().decode(value as never)).toThrow(/^chunk/)
    },
  )

  test('skips unknown types', () => {
    expect(decode({ type: 'presence' } as never, { type: 'millrace' } as never).chunks).toEqual([])
  })
})

test('takes only user content from a request', () => {
  const body = ChatRequestSchema.parse({
    conversationId: 's',
    message: {
      id: 'u',
      role: 'user',
      status: 'sending',
      parts: [
        { type: 'text', text: 'a', state: 'done' },
        { type: 'file', url: 'blob:x', mediaType: 'text/plain' },
        { type: 'data-millrace', data: {} },
      ],
    },
    regenerate: 'a1',
  })
  expect(clientRequestOf(body)).toEqual({
    userMessages: [{ id: 'u', parts: [{ type: 'text', text: 'a' }], metadata: undefined }],
    endsWithUserMessage: true,
    answers: [],
    regenerate: 'a1',
  })
})
