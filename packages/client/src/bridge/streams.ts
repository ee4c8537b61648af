// Streams for authors of adapters: from an array of chunks, from a server's response, from any iterable.

import { type EventFormat, EventReader, type WireEvent } from '@millrace/dialects'
import { jsonEventOf } from '@millrace/dialects/internal'
import { ProtocolError } from '@millrace/protocol'
import { errorOf } from '../connection/api.ts'
import { failureOf } from '../error/chat-error.ts'
import type { ChatMessageChunk, ChatStreamEnvelope } from './types.ts'

/** Options of `fetchServerSentEvents` and `fetchNdjson`, with those of `fetch`. */
export interface FetchStreamInit extends RequestInit {
  /** Function to use instead of `fetch`. @default globalThis.fetch */
  readonly fetch?: typeof fetch
  /** Maximum length of one event or line, in characters. @default 16_777_216 */
  readonly maxLength?: number
}

/** Creates a stream of chunks. @param delayMs Delay before each chunk, in ms. @default 0 */
export function createStream<T extends ChatMessageChunk | ChatStreamEnvelope = ChatMessageChunk>(
  chunks: readonly T[],
  delayMs = 0,
): ReadableStream<T> {
  let isCancelled = false
  return new ReadableStream<T>({
    async start(controller) {
      for (const chunk of chunks) {
        if (delayMs > 0) await new Promise(resolve => setTimeout(resolve, delayMs))
        if (isCancelled) return
        controller.enqueue(chunk)
      }
      controller.close()
    },
    cancel() {
      isCancelled = true
    },
  })
}

/** Creates a stream of the values of an iterable, read on demand. Cancelling the stream ends the iteration. */
export function fromAsyncIterable<T>(iterable: AsyncIterable<T> | Iterable<T>): ReadableStream<T> {
  const iterator =
    Symbol.asyncIterator in iterable ? iterable[Symbol.asyncIterator]() : (iterable as Iterable<T>)[Symbol.iterator]()
  return new ReadableStream<T>(
    {
      async pull(controller) {
        const { done, value } = await iterator.next()
        if (done) controller.close()
        else controller.enqueue(value)
      },
      cancel() {
        // An iterator that is awaiting something returns only after that: do not wait for it.
        Promise.resolve(iterator.return?.()).catch(() => {})
      },
    },
    { highWaterMark: 0 },
  )
}

/** Fetches a body and streams its JSON values, read on demand. */
async function fetchValues<T>(
  url: string | URL,
  accept: string,
  format: EventFormat,
  { fetch = globalThis.fetch, maxLength, ...init }: FetchStreamInit = {},
): Promise<ReadableStream<T>> {
  const headers = new Headers(init.headers)
  if (!headers.has('accept')) headers.set('accept', accept)
  // Not `send`: the caller may use every option of `fetch`, and an abort rejects with the caller's own reason.
  const reply = await fetch(url, { cache: 'no-store', ...init, headers }).catch(error => {
    throw init.signal?.aborted ? error : failureOf(error)
  })
  if (!reply.ok) throw await errorOf(reply)
  const reader = reply.body?.getReader()
  const events = new EventReader(format, maxLength)
  const values: unknown[] = []
  let isComplete = false
  let failed: { readonly error: unknown } | undefined
  const take = (received: readonly WireEvent[]) => {
    for (const event of received) {
      const value = jsonEventOf(event)
      isComplete = value === undefined
      if (isComplete) return
      values.push(value)
    }
  }
  const read = async () => {
    const bytes = (await reader?.read())?.value
    const received: WireEvent[] = []
    try {
      if (bytes) events.push(bytes, received)
      else received.push(...events.end())
    } finally {
      take(received)
    }
    if (bytes || isComplete) return
    isComplete = true
    // An adapter cannot tell a body that was cut off from a complete one, so this is an error. A dialect's decoder can, and drops the event.
    const { incomplete = DONE } = events
    if (incomplete !== DONE)
      throw new ProtocolError('invalid-json', 'stream: expected the rest of an event, but the stream ended')
  }
  return new ReadableStream<T>(
    {
      async pull(controller) {
        // A pull that enqueues nothing is not repeated.
        while (values.length === 0 && !isComplete && !failed) {
          await read().catch(error => {
            failed = { error }
          })
        }
        // Values before an error are delivered first.
        const isLast = values.length === 0
        for (const value of values.splice(0)) controller.enqueue(value as T)
        if (failed ? !isLast : !isComplete) return
        reader?.cancel().catch(() => {})
        if (failed) throw failed.error
        controller.close()
      },
      cancel: reason => reader?.cancel(reason),
    },
    { highWaterMark: 0 },
  )
}

/** Ends a stream, also as the last line without a line end. */
const DONE = '[DONE]'

/**
 * Streams the JSON values of a server's events. `[DONE]` ends the stream. An event that is cut off is an error.
 * @throws a `RequestError` if the request fails or is refused.
 */
export const fetchServerSentEvents = <T = ChatMessageChunk | ChatStreamEnvelope>(
  url: string | URL,
  init?: FetchStreamInit,
): Promise<ReadableStream<T>> => fetchValues(url, 'text/event-stream', 'sse', init)

/**
 * Streams the JSON values of a server's lines. `[DONE]` ends the stream. A line that is cut off is an error.
 * @throws a `RequestError` if the request fails or is refused.
 */
export const fetchNdjson = <T = ChatMessageChunk | ChatStreamEnvelope>(
  url: string | URL,
  init?: FetchStreamInit,
): Promise<ReadableStream<T>> => fetchValues(url, 'application/x-ndjson', 'ndjson', init)
