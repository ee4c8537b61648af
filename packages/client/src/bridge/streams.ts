// Streams for those who write adapters: of chunks that are there, of what a server sends, of anything that can be iterated.

import { ProtocolError } from '@millrace/protocol'
import { LineSplitter } from '@millrace/protocol/internal'
import { errorOf } from '../connection/api.ts'
import { failureOf } from '../error/chat-error.ts'
import type { ChatMessageChunk, ChatStreamEnvelope } from './types.ts'

/** The most characters that one event or line may have, unless it is told otherwise. */
const MAX_LENGTH = 16 * 1024 * 1024

export interface FetchStreamInit extends RequestInit {
  /** In place of the global `fetch`. */
  readonly fetch?: typeof fetch
  /** The most characters that one event or line may have. */
  readonly maxLength?: number
}

/** A stream of chunks, each after a delay, if one is given. */
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

/** A stream of what an iterable gives, asked for only as it is read; cancelling it ends the iteration. */
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
        // One that is at work hears of it only when it comes back: nobody waits for that.
        Promise.resolve(iterator.return?.()).catch(() => {})
      },
    },
    { highWaterMark: 0 },
  )
}

/** What the text of a stream says: values, and whether it is over. */
abstract class StreamParser {
  readonly values: unknown[] = []
  isOver = false
  readonly #lines = new LineSplitter()
  readonly #utf8 = new TextDecoder('utf-8', { ignoreBOM: true })
  readonly #maxLength: number

  constructor(maxLength = MAX_LENGTH) {
    this.#maxLength = maxLength
  }

  push(bytes: Uint8Array): void {
    for (const line of this.#lines.push(this.#utf8.decode(bytes, { stream: true }))) {
      this.bound(line.length)
      if (!this.isOver) this.line(line)
    }
    this.bound(this.#lines.length)
  }

  end(): void {
    if (!this.isOver) this.rest(this.#lines.end() + this.#utf8.decode())
  }

  protected abstract line(line: string): void
  protected abstract rest(line: string): void

  protected value(text: string): void {
    if (text === '[DONE]') {
      this.isOver = true
      return
    }
    try {
      this.values.push(JSON.parse(text))
    } catch {
      throw new ProtocolError('invalid-json', `stream: expected JSON, found ${JSON.stringify(text.slice(0, 40))}`)
    }
  }

  protected bound(length: number): void {
    if (length > this.#maxLength)
      throw new ProtocolError('line-too-long', `stream: expected at most ${this.#maxLength} characters in one piece`)
  }
}

class EventParser extends StreamParser {
  #data: string[] = []
  #length = 0

  protected override line(line: string): void {
    if (line === '') {
      const data = this.#data
      this.#data = []
      this.#length = 0
      if (data.length > 0) this.value(data.join('\n'))
    } else if (line === 'data' || line.startsWith('data:')) {
      const value = line.slice(line[5] === ' ' ? 6 : 5)
      this.#data.push(value)
      this.#length += value.length + 1
      this.bound(this.#length)
    }
  }

  protected override rest(line: string): void {
    if (line !== '') this.line(line)
    if (this.#data.join('\n') === '[DONE]') return
    if (this.#data.length > 0 || line.startsWith('data'))
      throw new ProtocolError('invalid-json', 'stream: it ended in the middle of an event')
  }
}

class LineParser extends StreamParser {
  protected override line(line: string): void {
    if (line.trim() !== '') this.value(line)
  }

  protected override rest(line: string): void {
    this.line(line)
  }
}

/** The values that a response body says, read only as they are asked for. */
async function fetchValues<T>(
  url: string | URL,
  accept: string,
  Kind: new (maxLength?: number) => StreamParser,
  { fetch = globalThis.fetch, maxLength, ...init }: FetchStreamInit = {},
): Promise<ReadableStream<T>> {
  const headers = new Headers(init.headers)
  if (!headers.has('accept')) headers.set('accept', accept)
  const reply = await fetch(url, { cache: 'no-store', ...init, headers }).catch(error => {
    throw init.signal?.aborted ? error : failureOf(error)
  })
  if (!reply.ok) throw await errorOf(reply)
  const reader = reply.body?.getReader()
  const reading = new Kind(maxLength)
  let failed: { readonly error: unknown } | undefined
  const read = async () => {
    const { done, value } = (await reader?.read()) ?? { done: true }
    if (value) reading.push(value)
    if (!done) return
    reading.end()
    reading.isOver = true
  }
  return new ReadableStream<T>(
    {
      async pull(controller) {
        // Until there is something: who enqueues nothing is not asked again.
        while (reading.values.length === 0 && !reading.isOver && !failed) {
          await read().catch(error => {
            failed = { error }
          })
        }
        // What came whole before an error is no worse for it.
        const isLast = reading.values.length === 0
        for (const value of reading.values.splice(0)) controller.enqueue(value as T)
        if (failed ? !isLast : !reading.isOver) return
        reader?.cancel().catch(() => {})
        if (failed) throw failed.error
        controller.close()
      },
      cancel: reason => reader?.cancel(reason),
    },
    { highWaterMark: 0 },
  )
}

/** The values of a server's events, each the JSON of one `data:`; `[DONE]` ends it, and so does nothing that was cut off. */
export const fetchServerSentEvents = <T = ChatMessageChunk | ChatStreamEnvelope>(
  url: string | URL,
  init?: FetchStreamInit,
): Promise<ReadableStream<T>> => fetchValues(url, 'text/event-stream', EventParser, init)

/** The values of a server's lines, each of them JSON; a line that was cut off is an error. */
export const fetchNdjson = <T = ChatMessageChunk | ChatStreamEnvelope>(
  url: string | URL,
  init?: FetchStreamInit,
): Promise<ReadableStream<T>> => fetchValues(url, 'application/x-ndjson', LineParser, init)
