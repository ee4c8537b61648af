// The AI SDK: its Chat, with a transport in the same process (no HTTP, no SSE, no schema), and its transport alone.
import { strictEqual } from 'node:assert/strict'
import { Chat } from '@ai-sdk/react'
import { DefaultChatTransport, JsonToSseTransformStream, type UIMessage, type UIMessageChunk } from 'ai'
import { networkReads } from '../fixtures/frames.ts'
import { memo } from '../fixtures/memo.ts'
import { answer, checkText, parsed, readAll, streamOf } from '../fixtures/text.ts'
import { type Job, job } from '../harness/suite.ts'

const deltaChunks = memo((count: number, workIndex: number) =>
  parsed(answer(count, workIndex).deltas.map(delta => ({ type: 'text-delta' as const, id: 'text-1', delta }))),
)
/** The chunks of one answer. */
export const aiChunks = memo((count: number, workIndex: number) =>
  parsed<UIMessageChunk>([
    { type: 'start', messageId: 'answer' },
    { type: 'text-start', id: 'text-1' },
    ...deltaChunks(count, workIndex),
    { type: 'text-end', id: 'text-1' },
    { type: 'finish' },
  ]),
)
const bytesOf = memo((count: number, workIndex: number) =>
  networkReads(
    deltaChunks(count, workIndex)
      .map(chunk => `data: ${JSON.stringify(chunk)}\n\n`)
      .join(''),
  ),
)

/** Earlier messages of a conversation. */
export const aiHistory = (count: number): UIMessage[] =>
  Array.from({ length: count }, (_, i) => {
    return { id: `message-${i}`, role: i % 2 ? 'assistant' : 'user', parts: [{ type: 'text', text: `text ${i}` }] }
  })

/** One answer into a conversation with `history` earlier messages. */
export function aiAnswer(count: number, workIndex: number, history: number): Job {
  const chunks = aiChunks(count, workIndex)
  const chat = new Chat({
    messages: aiHistory(history),
    transport: { sendMessages: async () => streamOf(chunks), reconnectToStream: async () => null },
  })
  return job(
    async () => {
      await chat.sendMessage({ text: 'go' })
      return chat.messages
    },
    all => {
      const part = all.at(-1)?.parts[0]
      checkText(part?.type === 'text' ? part.text : undefined, answer(count, workIndex))
      if (all.length !== history + 2 || chat.status !== 'ready')
        throw new Error(`expected a ready chat with ${history + 2} messages, found ${all.length}, ${chat.status}`)
    },
  )
}

/** Bytes to chunks through the transport of `useChat`, with its validation. */
export function aiDecode(count: number, workIndex: number): Job {
  const bytes = bytesOf(count, workIndex)
  const transport = new DefaultChatTransport({ fetch: async () => new Response(streamOf(bytes)) })
  return job(
    async () => {
      const ask = { trigger: 'submit-message', chatId: 'chat', messageId: undefined, abortSignal: undefined } as const
      let text = ''
      await readAll(await transport.sendMessages({ ...ask, messages: [] }), chunk => {
        if (chunk.type === 'text-delta') text += chunk.delta
      })
      return text
    },
    text => checkText(text, answer(count, workIndex)),
  )
}

/** Chunks to events through the stream of its responses. */
export function aiEncode(count: number, workIndex: number): Job {
  const chunks = deltaChunks(count, workIndex)
  return job(
    async () => {
      let length = 0
      await readAll(streamOf(chunks).pipeThrough(new JsonToSseTransformStream()), event => {
        length += Buffer.byteLength(event)
      })
      return length
    },
    length => strictEqual(length, Buffer.concat(bytesOf(count, workIndex)).length + 'data: [DONE]\n\n'.length),
  )
}
