import { type Backoff, RetryDelay, retry } from '@millrace/protocol/retry'
import { ChunkOrder } from './chunk-order.ts'
import type { ChatMessageChunk, ChatStream } from './types.ts'

/** Maximum number of successive reconnects that bring no news. */
const ATTEMPTS = 3
/** Time limit for an adapter to reconnect, or to stop, in ms. */
const TIMEOUT_MS = 20_000
/** Longest time to read without a pause, in ms: the page must paint. */
const MAX_TASK_MS = 12
/** Longest wait until the first sequence of a stream is known, in ms. */
const HOLD_MS = 50

/** End of a reply: `finished` by a `finish` or `abort` chunk, `stopped` by `stop`, `lost` with its stream, `refused` if the adapter opened none. */
export type ReplyEnding =
  | { readonly outcome: 'finished' | 'stopped' }
  | { readonly outcome: 'lost' | 'refused'; readonly error: unknown }

export interface ReplyReaderOptions {
  readonly open: (signal: AbortSignal) => Promise<ChatStream>
  readonly reconnect: ((signal: AbortSignal) => Promise<ChatStream | null>) | undefined
  readonly backoff: Backoff | undefined
  readonly onOpen: () => void
  /** Applies a chunk. Returns whether it was new. Throws if the reply cannot continue after it. */
  readonly onChunk: (chunk: ChatMessageChunk) => boolean
  /** The stream dropped. The reader reconnects if the adapter can. */
  readonly onDrop: (error: unknown) => void
  /** The reader has another stream, which may repeat the one before. */
  readonly onResume: () => void
  /** The resumed stream brought news. */
  readonly onRecover: () => void
}

/** Calls an adapter with a time limit. */
export async function withTimeout<T>(ask: (signal: AbortSignal) => T | PromiseLike<T>): Promise<T> {
  const controller = new AbortController()
  const { signal } = controller
  const timer = setTimeout(
    () => controller.abort(new Error(`The adapter did not answer within ${TIMEOUT_MS / 1000} s.`)),
    TIMEOUT_MS,
  )
  try {
    return await Promise.race([
      ask(signal),
      new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    ])
  } finally {
    clearTimeout(timer)
  }
}

/** Whether a value is a stream, of any realm. */
const isStream = (value: unknown): value is ChatStream =>
  typeof (value as Partial<ChatStream> | null | undefined)?.getReader === 'function'

/**
 * Reads one reply of an adapter to its end, over as many streams as it takes. A stream that closes without `finish` or `abort` was dropped (law 7). Foreign servers have
 * the `ReconnectingReader` of `@millrace/dialects`: they do not number their chunks, so a resumed reply is compared with the chunks before it as a whole.
 */
export class ReplyReader {
  readonly #options: ReplyReaderOptions
  readonly #controller = new AbortController()
  readonly #order = new ChunkOrder()
  readonly #delay: RetryDelay
  #hasReconnected = false
  #reader: ReadableStreamDefaultReader<unknown> | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  /** Whether the stream dropped, and no news came since. */
  #isDropped = false
  /** The error of an invalid chunk, and whether another stream cannot help. */
  #failure: { readonly error: unknown; readonly isFinal: boolean } | undefined

  constructor(options: ReplyReaderOptions) {
    this.#options = options
    this.#delay = new RetryDelay({ ...options.backoff, attempts: ATTEMPTS })
  }

  get #isStopped(): boolean {
    return this.#controller.signal.aborted
  }

  /** Stops at once. Later chunks are ignored. */
  stop(): void {
    this.#controller.abort()
    this.#release()
  }

  async run(): Promise<ReplyEnding> {
    let stream: ChatStream | null
    try {
      stream = await this.#ask(this.#options.open)
      if (this.#isStopped) return { outcome: 'stopped' }
      if (!isStream(stream)) {
        const kind = Object.prototype.toString.call(stream).slice(8, -1)
        throw new TypeError(
          `Expected a ReadableStream of chunks from the adapter, found ${kind}: convert an iterable with fromAsyncIterable, or a server's response with fetchServerSentEvents or fetchNdjson.`,
        )
      }
    } catch (error) {
      return this.#isStopped ? { outcome: 'stopped' } : { outcome: 'refused', error }
    }
    this.#options.onOpen()
    for (;;) {
      const error = await this.#read(stream)
      if (this.#order.isEnded && !this.#failure) return { outcome: 'finished' }
      if (this.#isStopped) return { outcome: 'stopped' }
      this.#isDropped = true
      this.#options.onDrop(error)
      const next = this.#failure?.isFinal ? undefined : await this.#reconnect()
      if (this.#isStopped) return { outcome: 'stopped' }
      if (!next) return { outcome: 'lost', error }
      this.#failure = undefined
      this.#options.onResume()
      stream = next
    }
  }

  /** A stream with the rest of the reply. Undefined if there is none, or all attempts fail. */
  async #reconnect(): Promise<ChatStream | undefined> {
    const { reconnect } = this.#options
    if (!reconnect) return undefined
    const { signal } = this.#controller
    const wait = this.#delay.wait(0, signal)
    // The very first attempt has no delay.
    if (!this.#hasReconnected) this.#delay.wake()
    this.#hasReconnected = true
    if (!(await wait)) return undefined
    const ask = () => withTimeout(timeout => this.#ask(reconnect, timeout))
    // The reply failed because its stream dropped. Why it cannot be resumed is secondary.
    const stream = await retry(ask, this.#delay, () => 0, signal).catch(() => undefined)
    return isStream(stream) ? stream : undefined
  }

  /** Asks the adapter for a stream. Cancels one that arrives after an abort. */
  #ask<T extends ChatStream | null>(open: (signal: AbortSignal) => Promise<T>, timeout?: AbortSignal): Promise<T> {
    const { signal: stopped } = this.#controller
    const signal = timeout ? AbortSignal.any([stopped, timeout]) : stopped
    return new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
      const opening = (async () => open(signal))()
      opening.then(stream => {
        if (signal.aborted && isStream(stream)) stream.cancel().catch(() => {})
        resolve(stream)
      }, reject)
    })
  }

  /** Reads a stream until it ends. Returns the error that it dropped with. */
  async #read(stream: ChatStream): Promise<unknown> {
    let since = performance.now()
    try {
      const reader = stream.getReader()
      this.#reader = reader
      for (;;) {
        const { done, value } = await reader.read()
        if (this.#isStopped) return undefined
        this.#deliver(() => (done ? this.#order.release() : this.#order.push(value)))
        if (this.#failure) throw this.#failure.error
        if (this.#order.isEnded) return undefined
        if (done) {
          const missing = 'The stream closed before missing chunks arrived: send the message again.'
          throw new Error(
            this.#order.hasGap
              ? missing
              : 'Expected finish or abort at the end of the stream, but it closed without one: send the message again.',
          )
        }
        if (this.#order.isHolding) this.#timer ??= setTimeout(() => this.#deliver(() => this.#order.release()), HOLD_MS)
        if (performance.now() - since > MAX_TASK_MS) {
          await new Promise(resolve => setTimeout(resolve))
          since = performance.now()
        }
      }
    } catch (error) {
      return error
    } finally {
      this.#release()
      this.#order.close()
    }
  }

  #deliver(chunks: () => readonly ChatMessageChunk[]): void {
    if (this.#failure) return
    const { next } = this.#order
    try {
      for (const chunk of chunks()) {
        if (this.#isStopped) return
        if (this.#options.onChunk(chunk) || this.#order.next !== next) this.#progressed()
      }
    } catch (error) {
      // Another stream may bring a missing chunk, but an invalid one stays invalid, and a reply that has ended does not continue.
      const isMissing = (error as { readonly code?: unknown }).code === 'too-large' && !this.#order.isEnded
      this.#failure = { error, isFinal: !isMissing }
    }
    // Cancelling ends the pending read.
    if (this.#failure || this.#order.isEnded) this.#release()
  }

  #progressed(): void {
    this.#delay.progressed()
    if (this.#isDropped) this.#options.onRecover()
    this.#isDropped = false
  }

  /** Cancels the stream, so that no body stays open. */
  #release(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const reader = this.#reader
    this.#reader = undefined
    reader?.cancel().catch(() => {})
  }
}
