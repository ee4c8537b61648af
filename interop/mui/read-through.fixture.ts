// A server of one recorded run, read by the MUI runtime.

import { createMuiAdapter, muiDialect } from '@millrace/dialects/mui'
import { type Entry, messageIdOf } from '@millrace/protocol'
import { ChatStore } from '@mui/x-chat-headless/store'
import { processStream } from '@mui/x-chat-headless/stream'
import type { ChatMessage, ChatRealtimeEvent } from '@mui/x-chat-headless/types'

/** A finished run. */
export interface FinishedRun {
  readonly live: readonly Entry[]
  readonly runId: string
}

export const messageIn = ({ state }: ChatStore, { runId }: FinishedRun): Partial<ChatMessage> => {
  const { parts = [], metadata, status } = state.messagesById[messageIdOf(runId, runId)] ?? {}
  return { parts, metadata, status } as Partial<ChatMessage>
}

/** The response body from a sequence up to the cut. */
function body({ live, runId }: FinishedRun, after: number, pieces: number): ReadableStream<Uint8Array> {
  const encoder = muiDialect.encoder({ runId })
  const lines: string[] = []
  const send = (event: unknown, eventId: string) => lines.push(`data: ${JSON.stringify({ eventId, chunk: event })}\n\n`)
  let isFirst = after > 0
  for (const entry of live) {
    const events = encoder.encode(entry)
    if (entry.sequence <= after) continue
    if (isFirst) for (const event of encoder.resume()) send(event, `${entry.sequence}.0`)
    isFirst = false
    // The last line is cut before its end.
    const isInterrupted = lines.length >= pieces
    for (const [i, event] of events.slice(0, isInterrupted ? 1 : events.length).entries())
      send(event, `${entry.sequence}.${i}`)
    if (isInterrupted) break
    send({ type: 'millrace' }, `${entry.sequence}`)
  }
  const isWhole = lines.length < pieces
  const text = new TextEncoder().encode(lines.join(''))
  return new ReadableStream({
    start(controller) {
      controller.enqueue(text)
      if (isWhole) controller.close()
      else setTimeout(() => controller.error(new TypeError('terminated')))
    },
  })
}

/** Applies an event like the MUI runtime. */
function applyEvent(store: ChatStore, event: ChatRealtimeEvent): void {
  if (event.type !== 'message-updated') throw new Error(`unexpected event ${event.type}: expected message-updated`)
  if (store.state.messagesById[event.message.id]) store.updateMessage(event.message.id, event.message)
  else store.addMessage(event.message)
}

/** Reads a run through the adapter, over connections that end after the given numbers of lines. */
export async function readThrough(run: FinishedRun, lineLimits: readonly number[], flushInterval: number) {
  const left = [...lineLimits]
  const fetch = async (input: RequestInfo | URL): Promise<Response> => {
    const after = Number(new URL(String(input)).searchParams.get('after') ?? 0)
    const max = left.shift() ?? Number.POSITIVE_INFINITY
    return new Response(body(run, after, max), { headers: { 'x-run-id': run.runId } })
  }
  const url = 'http://mill.test/api/mui/program'
  const adapter = createMuiAdapter({ url, fetch, backoff: { firstMs: 1, longestMs: 1 } })
  const store = new ChatStore({})
  const updates: Partial<ChatMessage>[] = []
  adapter.subscribe({
    onEvent: event => {
      updates.push(messageIn(store, run))
      applyEvent(store, event)
    },
  })
  const { signal } = new AbortController()
  const message = { id: 'said-1', parts: [{ type: 'text', text: 'Well?' }] }
  const stream = await adapter.sendMessage({ message, messages: [message], signal })
  const reading = processStream(store, stream, { messageId: 'fallback', flushInterval })
  /** Shown messages before each correction. */
  return { store, reading, updates }
}
