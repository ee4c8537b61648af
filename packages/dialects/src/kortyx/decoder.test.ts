import type { Chunk } from '@millrace/protocol'
import { expect, test } from 'vitest'
import { KortyxDecoder } from './decoder.ts'
import { kortyxDialect, type StreamChunk, summarizeStreamChunks } from './index.ts'

function heard(...events: StreamChunk[]): { readonly chunks: Chunk[]; readonly status: string | undefined } {
  const decoder = kortyxDialect.decoder()
  const chunks = events.flatMap(event => decoder.decode(event).map(({ chunk }) => chunk))
  return { chunks, status: decoder.status }
}

const DONE: StreamChunk = { type: 'done' }

test('law 7: a stream is over when it is done: with an error it failed, with a question it waits, and before that it was dropped', () => {
  const question = { type: 'interrupt', requestId: 'q', resumeToken: 't' } as const
  expect(heard({ type: 'status', message: 'on it' }).status).toBeUndefined()
  expect(heard(DONE).status).toBe('completed')
  expect(heard({ type: 'error', message: 'no' }).status).toBeUndefined()
  expect(heard({ type: 'error', message: 'no' }, DONE).status).toBe('failed')
  expect(heard({ ...question, input: { kind: 'text', multiple: false } }, DONE).status).toBe('paused')
  // Of ours that says no more, the connection broke off.
  expect(heard({ type: 'error', message: 'no', millrace: null }, { ...DONE, millrace: null }).status).toBeUndefined()
})

test('a text goes by its segment and use of a hook, and one that comes again under the same name is another', () => {
  const about = { opId: 'op', node: 'n' }
  const { chunks } = heard(
    { type: 'text-start', ...about },
    { type: 'text-delta', ...about, delta: 'a' },
    { type: 'text-end', ...about },
    { type: 'text-delta', ...about, delta: 'b' },
    { type: 'text-delta', ...about, segmentId: '7', delta: 'c' },
  )
  expect(chunks.map(chunk => ('id' in chunk ? chunk.id : ''))).toEqual(['op:n', 'op:n', 'op:n', 'op:n#2', 'op:7'])
})

test('a message is a text, unless its node has said it word by word', () => {
  const { chunks } = heard(
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

test('calls, questions, checkpoints and traces in our words; tokens are kept for who answers', () => {
  const decoder = new KortyxDecoder()
  const call = { tool: 'weigh', toolCallId: 'c' }
  const said: StreamChunk[] = [
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
  expect(said.flatMap(event => decoder.decode(event).map(({ chunk }) => chunk))).toEqual([
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

test('what is no chunk is refused, typed; a type that nobody knows is passed over', () => {
  const decoder = kortyxDialect.decoder()
  for (const bad of [null, 5, {}, { type: 'tool-result', tool: 'millrace', content: {} }])
    expect(() => decoder.decode(bad as never)).toThrow(expect.objectContaining({ code: 'invalid-chunk' }))
  expect(decoder.decode({ type: 'novel' } as never)).toEqual([])
})

test('a summary joins texts with a space where there is none, and takes whole messages where nothing was streamed', () => {
  const delta = (segmentId: string, text: string): StreamChunk => ({ type: 'text-delta', segmentId, delta: text })
  const textOf = (...chunks: StreamChunk[]) => summarizeStreamChunks(chunks).text
  expect(textOf(delta('a', 'One'), delta('a', '.'), delta('b', 'Two'), delta('c', ' three'))).toBe('One. Two three')
  expect(textOf({ type: 'message', content: 'A' }, { type: 'message', content: 'B' })).toBe('AB')
  expect(textOf({ type: 'message', content: 'A' }, delta('a', 'B'))).toBe('B')
})
