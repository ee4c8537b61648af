import { type Backoff, RetryDelay } from '@millrace/protocol/retry'
import { ChunkOrder } from './chunk-order.ts'
import type { ChatMessageChunk, ChatStream } from './types.ts'

/** How often in a row a reply is asked for again where nothing came of it. */
const ATTEMPTS = 3
/** How long an adapter may take to find the rest of a reply, or to stop one, in milliseconds. */
const LATE_MS = 20_000
/** How long a stream may go on before others get their turn, in milliseconds: a frame must be painted now and then. */
const TURN_MS = 12
/** How long one waits to see where a stream begins, in milliseconds. */
const HOLD_MS = 50

/** How a reply ended: as it said itself, by being stopped here, by breaking off for good, or before it began. */
export type ReplyEnding =
  | { readonly how: 'ended' | 'stopped' }
  | { readonly how: 'broken' | 'refused'; readonly error: unknown }

export interface ReplyReaderOptions {
  readonly open: (signal: AbortSignal) => Promise<ChatStream>
  readonly reconnect: ((signal: AbortSignal) => Promise<ChatStream | null>) | undefined
  readonly backoff: Backoff
  /** The stream is there. */
  readonly opened: () => void
  /** Takes a chunk, and says whether that was news; throws where the reply cannot go on with it. */
  readonly take: (chunk: ChatMessageChunk) => boolean
  /** It broke off; it is asked for again, if that can be done. */
  readonly broke: (error: unknown) => void
  /** There is another stream of it, which may begin with what the one before told. */
  readonly resumed: () => void
  /** It goes on: there was news. */
  readonly recovered: () => void
}

/** What an adapter is asked for, unless it takes too long. */
export async function withTimeout<T>(ask: (late: AbortSignal) => T | PromiseLike<T>): Promise<T> {
  const late = new AbortController()
  const { signal } = late
  const timer = setTimeout(() => late.abort(new Error('The adapter did not answer in time.')), LATE_MS)
  try {
    return await Promise.race([
      ask(signal),
      new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    ])
  } finally {
    clearTimeout(timer)
  }
}

/** Tells a stream of any realm. */
const isStream = (value: unknown): value is ChatStream =>
  typeof (value as Partial<ChatStream> | null | undefined)?.getReader === 'function'

/** Reads one reply to its end, over as many streams as it takes; a stream that closes without saying how it ends has broken off (law 7). */
export class ReplyReader {
  readonly #options: ReplyReaderOptions
  readonly #controller = new AbortController()
  readonly #order = new ChunkOrder()
  readonly #delay: RetryDelay
  /** Attempts to reconnect since there was news, and whether there ever was one. */
  #attempts = 0
  #hasReconnected = false
  #reader: ReadableStreamDefaultReader<unknown> | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  /** It broke off, and has not gone on yet. */
  #isBroken = false
  /** What a chunk was refused with; nothing comes after it, unless the next stream can do better. */
  #failed: { readonly error: unknown; readonly isFinal: boolean } | undefined

  constructor(options: ReplyReaderOptions) {
    this.#options = options
    this.#delay = new RetryDelay(options.backoff)
  }

  get #isStopped(): boolean {
    return this.#controller.signal.aborted
  }

  /** Stops at once, whatever it waits for; nothing is taken any more. */
  stop(): void {
    this.#controller.abort()
    this.#delay.cancel()
    this.#leave()
  }

  async run(): Promise<ReplyEnding> {
    let stream: ChatStream | null
    try {
      stream = await this.#ask(this.#options.open)
      if (this.#isStopped) return { how: 'stopped' }
      if (!isStream(stream)) {
        const kind = Object.prototype.toString.call(stream).slice(8, -1)
        throw new TypeError(
          `The adapter gave ${kind} where a ReadableStream of chunks is expected: fromAsyncIterable makes one of what can be iterated, fetchServerSentEvents and fetchNdjson of what a server sends.`,
        )
      }
    } catch (error) {
      return this.#isStopped ? { how: 'stopped' } : { how: 'refused', error }
    }
    this.#options.opened()
    for (;;) {
      const error = await this.#read(stream)
      if (this.#order.isEnded) return { how: 'ended' }
      if (this.#isStopped) return { how: 'stopped' }
      this.#isBroken = true
      this.#options.broke(error)
      const next = this.#failed?.isFinal ? undefined : await this.#reconnect()
      if (this.#isStopped) return { how: 'stopped' }
      if (!next) return { how: 'broken', error }
      this.#failed = undefined
      this.#options.resumed()
      stream = next
    }
  }

  /** The stream that goes on; none, where there is none or nothing comes of asking. */
  async #reconnect(): Promise<ChatStream | undefined> {
    const { reconnect } = this.#options
    while (reconnect && this.#attempts++ < ATTEMPTS) {
      // The first attempt is made at once.
      if (this.#hasReconnected) await this.#delay.wait()
      this.#hasReconnected = true
      if (this.#isStopped) return undefined
      try {
        const stream = await withTimeout(late => this.#ask(reconnect, late))
        return isStream(stream) ? stream : undefined
      } catch {
        // Why it broke off is what counts, not why it cannot be had now.
      }
    }
    return undefined
  }

  /** Asks the adapter for a stream; one that comes when nobody waits for it any more is given back. */
  #ask<T extends ChatStream | null>(open: (signal: AbortSignal) => Promise<T>, late?: AbortSignal): Promise<T> {
    const { signal: stopped } = this.#controller
    const signal = late ? AbortSignal.any([stopped, late]) : stopped
    return new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
      const asked = (async () => open(signal))()
      asked.then(stream => {
        if (signal.aborted && isStream(stream)) stream.cancel().catch(() => {})
        resolve(stream)
      }, reject)
    })
  }

  /** Reads a stream until it ends, and tells what broke it off. */
  async #read(stream: ChatStream): Promise<unknown> {
    let since = performance.now()
    try {
      const reader = stream.getReader()
      this.#reader = reader
      for (;;) {
        const { done, value } = await reader.read()
        if (this.#isStopped) return undefined
        this.#take(() => (done ? this.#order.release() : this.#order.push(value)))
        if (this.#failed) throw this.#failed.error
        if (this.#order.isEnded) return undefined
        if (done) {
          const missing = 'The stream closed while something was missing before what it said last.'
          throw new Error(
            this.#order.hasGap ? missing : 'The stream closed before it said how the reply ends: no finish, no abort.',
          )
        }
        if (this.#order.isHolding) this.#timer ??= setTimeout(() => this.#take(() => this.#order.release()), HOLD_MS)
        if (performance.now() - since > TURN_MS) {
          await new Promise(resolve => setTimeout(resolve))
          since = performance.now()
        }
      }
    } catch (error) {
      return error
    } finally {
      this.#leave()
      this.#order.close()
    }
  }

  #take(chunks: () => readonly ChatMessageChunk[]): void {
    const { next } = this.#order
    try {
      for (const chunk of chunks()) {
        if (this.#isStopped) return
        if (this.#options.take(chunk) || this.#order.next !== next) this.#goOn()
      }
    } catch (error) {
      // One that is missing may be among what comes next; what is wrong stays wrong.
      this.#failed = { error, isFinal: (error as { readonly code?: unknown }).code !== 'too-large' }
    }
    // Who waits for the next is told by the end of the stream.
    if (this.#failed || this.#order.isEnded) this.#leave()
  }

  /** There was news. */
  #goOn(): void {
    this.#attempts = 0
    this.#delay.progressed()
    if (this.#isBroken) this.#options.recovered()
    this.#isBroken = false
  }

  /** Gives the stream back: no body stays open. */
  #leave(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const reader = this.#reader
    this.#reader = undefined
    reader?.cancel().catch(() => {})
  }
}
