// TanStack AI: its StreamProcessor with the AG-UI events that its client reads, and its transport alone.
import { strictEqual } from 'node:assert/strict'
import { EventType, type StreamChunk, StreamProcessor, toServerSentEventsStream, type UIMessage } from '@tanstack/ai'
import { fetchServerSentEvents } from '@tanstack/ai-client'
import { networkReads } from '../fixtures/frames.ts'
import { memo } from '../fixtures/memo.ts'
import { answer, checkText, parsed, readAll, streamOf } from '../fixtures/text.ts'
import { type Job, job } from '../harness/suite.ts'

const contentChunks = memo((count: number, workIndex: number): StreamChunk[] =>
  parsed(
    answer(count, workIndex).deltas.map(delta => {
      return { type: EventType.TEXT_MESSAGE_CONTENT as const, messageId: 'answer', delta }
    }),
  ),
)
/** The events of one answer. */
export const tanstackEvents = memo((count: number, workIndex: number) =>
  parsed<StreamChunk>([
    { type: EventType.RUN_STARTED, runId: 'run-1', threadId: 'thread-1' },
    { type: EventType.TEXT_MESSAGE_START, messageId: 'answer', role: 'assistant' },
    ...contentChunks(count, workIndex),
    { type: EventType.TEXT_MESSAGE_END, messageId: 'answer' },
    { type: EventType.RUN_FINISHED, runId: 'run-1', threadId: 'thread-1' },
  ]),
)
const bytesOf = memo((count: number, workIndex: number) =>
  networkReads(
    contentChunks(count, workIndex)
      .map(chunk => `data: ${JSON.stringify(chunk)}\n\n`)
      .join(''),
  ),
)

/** Earlier messages of a conversation. */
export const tanstackHistory = (count: number): UIMessage[] =>
  Array.from({ length: count }, (_, i) => {
    return { id: `message-${i}`, role: i % 2 ? 'assistant' : 'user', parts: [{ type: 'text', content: `text ${i}` }] }
  })

/** One answer into a conversation with `history` earlier messages. */
export function tanstackAnswer(count: number, workIndex: number, history: number): Job {
  const chunks = tanstackEvents(count, workIndex)
  let notifications = 0
  const events = {
    onMessagesChange: () => {
      notifications++
    },
  }
  const processor = new StreamProcessor({ initialMessages: tanstackHistory(history), events })
  return job(
    () => {
      for (const chunk of chunks) processor.processChunk(chunk)
      processor.finalizeStream()
      return processor.getMessages()
    },
    all => {
      const part = all.at(-1)?.parts[0]
      checkText(part?.type === 'text' ? part.content : undefined, answer(count, workIndex))
      if (all.length !== history + 1 || notifications < count)
        throw new Error(`expected ${history + 1} messages, found ${all.length} after ${notifications} notifications`)
    },
  )
}

/** Bytes to events through the connection of its client. */
export function tanstackDecode(count: number, workIndex: number): Job {
  const bytes = bytesOf(count, workIndex)
  const fetchClient = async () => new Response(streamOf(bytes), { headers: { 'content-type': 'text/event-stream' } })
  const connection = fetchServerSentEvents('http://localhost/', { fetchClient })
  return job(
    async () => {
      let text = ''
      for await (const chunk of connection.connect([])) {
        if (chunk.type === EventType.TEXT_MESSAGE_CONTENT) text += chunk.delta
      }
      return text
    },
    text => checkText(text, answer(count, workIndex)),
  )
}

/** Events to bytes through the stream of its responses. */
export function tanstackEncode(count: number, workIndex: number): Job {
  const chunks = contentChunks(count, workIndex)
  async function* source() {
    yield* chunks
  }
  return job(
    async () => {
      let length = 0
      await readAll(toServerSentEventsStream(source()), bytes => {
        length += bytes.length
      })
      return length
    },
    length => strictEqual(length, Buffer.concat(bytesOf(count, workIndex)).length),
  )
}
