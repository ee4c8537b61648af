import type { Chunk } from '@millrace/protocol'
import { expect, test } from 'vitest'
import { KortyxDecoder } from './decoder.ts'
import { kortyxDialect, type StreamChunk, summarizeStreamChunks } from './index.ts'

function decodeAll(...events: StreamChunk[]): { readonly chunks: Chunk[]; readonly status: string | undefined } {
  const decoder = kortyxDialect.decoder()
  const chunks = events.flatMap(event => decoder.decode(event).map(({ chunk }) => chunk))
  return { chunks, status: decoder.status }
}

const DONE: StreamChunk = { type: 'done' }

test('law 7: reports failed at an error, paused or completed at done, and no status before', () => {
  const question = { type: 'interrupt', requestId: 'q', resumeToken: 't' } as const
  expect(decodeAll({ type: 'status', message: 'on it' }).status).toBeUndefined()
  expect(decodeAll(DONE).status).toBe('completed')
  expect(decodeAll({ type: 'error', message: 'no' }).status).toBe('failed')
  expect(decodeAll({ type: 'error', message: 'no' }, DONE).status).toBe('failed')
  expect(decodeAll({ ...question, input: { kind: 'text', multiple: false } }, DONE).status).toBe('paused')
  // A `done` of ours without a status means a dropped connection.
  expect(
    decodeAll({ type: 'error', message: 'no', millrace: null }, { ...DONE, millrace: null }).status,
  ).toBeUndefined()
})

test('names a text by segment and hook call, and gives a reused name a new id', () => {
  const about = { opId: 'op', node: 'n' }
  const { chunks } = decodeAll(
    { type: 'text-start', ...about },
    { type: 'text-delta', ...about, delta: 'a' },
    { type: 'text-end', ...about },
    { type: 'text-delta', ...about, delta: 'b' },
    { type: 'text-delta', ...about, segmentId: '7', delta: 'c' },
  )
  expect(chunks.map(chunk => ('id' in chunk ? chunk.id : ''))).toEqual(['op:n', 'op:n', 'op:n', 'op:n#2', 'op:7'])
})

test('decodes a message to a text unless its node has streamed it', () => {
  const { chunks } = decodeAll(
    { type: 'message', node: 'a', content: 'First.' },
    { type: 'text-delta', node: 'b', delta: 'Second.' },
    { type: 'message', node: 'b', content: 'Second.' },
    { type: 'message', node: 'c', content: 'Third.' },
    { type: 'message', content: 'Whose?' },
    { type: 'message', node: 'c', content: ' ' },
  )
  expect(chunks.flatMap(chunk => (chunk.type === 'text-delta' ? [chunk.delta] : []))).toEqual([
    'First.',
    'Second.',
    'Third.',
  ])
})

test('decodes calls, interrupts, checkpoints and traces, and keeps the tokens', () => {
  const decoder = new KortyxDecoder()
  const call = { tool: 'weigh', toolCallId: 'c' }
  const chunks: StreamChunk[] = [
    { type: 'tool-call-start', ...call },
    { type: 'tool-call-result', ...call, content: 'no', isError: true },
    { type: 'tool-call-error', ...call, message: 'stuck' },
    { type: 'tool-result', tool: 'old', content: 1 },
    { type: 'checkpoint', id: 'cp', sessionId: 's', turnIndex: 1 },
    { type: 'trace', traceId: 't', spanId: 's', runId: 'r', rootSpanName: 'kortyx.run' },
    {
      type: 'interrupt',
      requestId: 'q',
      resumeToken: 'token',
      input: { kind: 'text', multiple: false, question: 'Why?', schemaId: 'x', meta: { a: 1 } },
    },
  ]
  expect(chunks.flatMap(event => decoder.decode(event).map(({ chunk }) => chunk))).toEqual([
    { type: 'tool-input-available', toolCallId: 'c', toolName: 'weigh', input: {} },
    { type: 'tool-output-error', toolCallId: 'c', errorText: 'no' },
    { type: 'tool-output-error', toolCallId: 'c', errorText: 'stuck' },
    { type: 'data-tool-result', data: { tool: 'old', content: 1 } },
    { type: 'checkpoint-created', checkpointId: 'cp' },
    { type: 'message-metadata', metadata: { traceId: 't', spanId: 's', runId: 'r' } },
    {
      type: 'interrupt',
      interruptId: 'q',
      input: { kind: 'text', multiple: false, question: 'Why?' },
      schemaId: 'x',
      meta: { a: 1 },
    },
  ])
  expect([...decoder.tokens]).toEqual([['q', 'token']])
})

test('rejects an invalid chunk and skips an unknown type', () => {
  const decoder = kortyxDialect.decoder()
  for (const bad of [null, 5, {}, { type: 'tool-result', tool: 'millrace', content: {} }])
    expect(() => decoder.decode(bad as never)).toThrow(expect.objectContaining({ code: 'invalid-chunk' }))
  expect(decoder.decode({ type: 'novel' } as never)).toEqual([])
})

test('summarizes texts joined by a space, and complete messages if nothing was streamed', () => {
  const delta = (segmentId: string, text: string): StreamChunk => ({ type: 'text-delta', segmentId, delta: text })
  const textOf = (...chunks: StreamChunk[]) => summarizeStreamChunks(chunks).text
  expect(textOf(delta('a', 'One'), delta('a', '.'), delta('b', 'Two'), delta('c', ' three'))).toBe('One. Two three')
  expect(textOf({ type: 'message', content: 'A' }, { type: 'message', content: 'B' })).toBe('AB')
  expect(textOf({ type: 'message', content: 'A' }, delta('a', 'B'))).toBe('B')
})
