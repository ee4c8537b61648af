// MUI X Chat, driven as by its provider: chunks from a ReadableStream into a ChatStore, without React.
import type { ChatMessage, ChatMessageChunk } from '@mui/x-chat-headless'
import { ChatStore } from '@mui/x-chat-headless/store'
import { processStream } from '@mui/x-chat-headless/stream'
import { memo } from '../fixtures/memo.ts'
import { answer, checkText, parsed, streamOf } from '../fixtures/text.ts'
import { type Job, job } from '../harness/suite.ts'

/** The chunks of one answer. */
export const muiChunks = memo((count: number, workIndex: number) =>
  parsed<ChatMessageChunk>([
    { type: 'start', messageId: 'answer' },
    { type: 'text-start', id: 'text-1' },
    ...answer(count, workIndex).deltas.map(delta => ({ type: 'text-delta' as const, id: 'text-1', delta })),
    { type: 'text-end', id: 'text-1' },
    { type: 'finish', messageId: 'answer' },
  ]),
)

/** Earlier messages of a conversation. */
export const muiHistory = (count: number): ChatMessage[] =>
  Array.from({ length: count }, (_, i) => {
    return { id: `message-${i}`, role: i % 2 ? 'assistant' : 'user', parts: [{ type: 'text', text: `text ${i}` }] }
  })

/** Streams one answer into a conversation with `history` earlier messages. */
export function muiAnswer(count: number, workIndex: number, history: number): Job {
  const chunks = muiChunks(count, workIndex)
  const store = new ChatStore({ initialMessages: muiHistory(history) })
  let notifications = 0
  store.subscribe(() => {
    notifications++
  })
  return job(
    async () => {
      await processStream(store, streamOf(chunks))
      return store.state.messagesById['answer']
    },
    message => {
      const part = message?.parts[0]
      checkText(part?.type === 'text' ? part.text : undefined, answer(count, workIndex))
      const found = store.state.messageIds.length
      if (found !== history + 1) throw new Error(`expected ${history + 1} messages in the store, found ${found}`)
      if (notifications === 0) throw new Error('expected the store to notify its subscriber')
    },
  )
}
