// A chat without a server. Tests write its log.

import { type ChatOptions, createChat } from '@millrace/client'
import type { Chunk, Entry } from '@millrace/protocol'

const never: typeof fetch = () => new Promise(() => {})

/** Creates a chat, and functions that write its log. */
export function scriptedChat(options: ChatOptions = {}) {
  const chat = createChat({ fetch: never, ...options })
  const { store } = chat
  const entryOf = (chunk: Chunk, runId: string, sequence: number): Entry => ({
    sequence,
    timestamp: sequence,
    origin: { runId, lane: 'main', agentId: runId, agentType: 'writer', step: 1 },
    chunk,
  })
  const write = (runId: string, ...chunks: Chunk[]): void => {
    store.apply(chunks.map((chunk, i) => entryOf(chunk, runId, store.head + 1 + i)))
  }
  const turn = (n: number): void =>
    write(
      `run-${n}`,
      { type: 'run-started', program: 'agent:writer@1' },
      { type: 'message', messageId: `user-${n}`, role: 'user', parts: [{ type: 'text', text: `Question ${n}` }] },
      { type: 'text-start', id: 't' },
      { type: 'text-delta', id: 't', delta: `Answer ${n}` },
      { type: 'text-end', id: 't' },
      { type: 'run-finished', status: 'completed' },
    )
  return { chat, store, write, turn }
}
