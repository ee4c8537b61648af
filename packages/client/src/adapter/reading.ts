import { type Backoff, Patience } from '../connection/patience.ts'
import { Order } from './order.ts'
import type { ChatMessageChunk, ChatStream } from './types.ts'

/** How often in a row a reply is asked for again where nothing came of it. */
const ATTEMPTS = 3
/** How long a stream may go on before others get their turn, in milliseconds: a frame must be painted now and then. */
const TURN_MS = 12
/** How long one waits to see where a stream begins, in milliseconds. */
const HOLD_MS = 50

/** How a reply ended: as it said itself, by being stopped here, by breaking off for good, or before it began. */
export type Ending =
  | { readonly how: 'ended' | 'stopped' }
  | { readonly how: 'broken' | 'refused'; readonly error: unknown }

export interface ReadingOptions {
  readonly open: (signal: AbortSignal) => Promise<ChatStream>
  readonly reconnect: ((signal: AbortSignal) => Promise<ChatStream | null>) | undefined
  readonly backoff: Backoff
  /** The stream is there. */
  readonly opened: () => void
  readonly take: (chunk: ChatMessageChunk) => void
  /** It broke off; it is asked for again, if that can be done. */
  readonly broke: (error: unknown) => void
  /** It goes on. */
  readonly recovered: (error: unknown) => void
}

/** Tells a stream of any realm. */
const isStream = (value: unknown): value is ChatStream =>
  typeof (value as Partial<ChatStream> | null | undefined)?.getReader === 'function'

/** Reads one reply to its end, over as many streams as it takes; a stream that closes without saying how it ends has broken off (law 7). */
export class Reading {
  readonly #options: ReadingOptions
  readonly #controller = new AbortController()
  readonly #order = new Order()
  readonly #patience: Patience
  #reader: ReadableStreamDefaultReader<unknown> | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  /** Why it broke off, until it goes on. */
  #broken: { readonly error: unknown } | undefined
  /** What a chunk was refused with. */
  #failed: { readonly error: unknown } | undefined
  /** How often it was asked for again since something came. */
  #fruitless = 0

  constructor(options: ReadingOptions) {
    this.#options = options
    this.#patience = new Patience(options.backoff)
  }

  get #isStopped(): boolean {
    return this.#controller.signal.aborted
  }

  /** Stops at once, whatever it waits for; nothing is taken any more. */
  stop(): void {
    this.#controller.abort()
    this.#patience.wake()
    this.#leave()
  }

  async run(): Promise<Ending> {
    let stream: ChatStream | null
    try {
      stream = await this.#ask(this.#options.open)
      if (this.#isStopped) return { how: 'stopped' }
      if (!isStream(stream)) throw new TypeError('The adapter gave no ReadableStream.')
    } catch (error) {
      return this.#isStopped ? { how: 'stopped' } : { how: 'refused', error }
    }
    this.#options.opened()
    for (;;) {
      const error = await this.#read(stream)
      if (this.#order.isEnded) return { how: 'ended' }
      if (this.#isStopped) return { how: 'stopped' }
      this.#broken = { error }
      this.#options.broke(error)
      const next = await this.#reconnect()
      if (this.#isStopped) return { how: 'stopped' }
      if (!next) return { how: 'broken', error }
      stream = next
    }
  }

  /** The stream that goes on; none, where there is none or nothing comes of asking. */
  async #reconnect(): Promise<ChatStream | undefined> {
    const { reconnect } = this.#options
    while (reconnect && this.#fruitless < ATTEMPTS) {
      if (this.#fruitless++ === 0) this.#patience.reset()
      else await this.#patience.wait()
      if (this.#isStopped) return undefined
      try {
        const stream = await this.#ask(reconnect)
        return isStream(stream) ? stream : undefined
      } catch {
        // Why it broke off is what counts, not why it cannot be had now.
      }
    }
    return undefined
  }

  /** Asks the adapter for a stream; one that comes when nobody waits for it any more is given back. */
  #ask<T extends ChatStream | null>(open: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { signal } = this.#controller
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
      this.#failed = undefined
      this.#leave()
      this.#order.close()
    }
  }

  #take(chunks: () => readonly ChatMessageChunk[]): void {
    try {
      for (const chunk of chunks()) {
        if (this.#isStopped) return
        this.#fruitless = 0
        if (this.#broken) {
          const { error } = this.#broken
          this.#broken = undefined
          this.#options.recovered(error)
        }
        this.#options.take(chunk)
      }
    } catch (error) {
      this.#failed = { error }
    }
    // Who waits for the next is told by the end of the stream.
    if (this.#failed || this.#order.isEnded) this.#leave()
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
