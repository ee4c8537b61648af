import type { Timers } from '@millrace/log'
import type { Sink } from './reply.ts'

/** Abort reason for requests and connections whose client left. All share one object, because creating an error captures a stack trace. */
export const CLIENT_GONE = new DOMException('the client disconnected', 'AbortError')

export interface ChannelSettings {
  readonly timers: Timers
  /** Buffered bytes at which a reader counts as slow. */
  readonly maxBufferedBytes: number
  /** Time without any progress after which a connection is closed, in ms. */
  readonly stallMs: number
}

/** Maximum number of concurrent reads on a shared connection. Each result is written at once. */
const MAX_CONCURRENT_READS = 2

/** One connection with backpressure: `room()` waits for the network, and `signal` aborts when the connection is over. */
export class Channel {
  readonly #sink: Sink
  readonly #settings: ChannelSettings
  readonly #abortController = new AbortController()
  readonly #closed = Promise.withResolvers<boolean>()
  #waiters: (() => void)[] = []
  /** Same as the signal, which is too slow to check with every write. */
  #isOpen = true
  #isEnded = false
  #isClosed = false
  #reading = 0
  #cancelStall: (() => void) | undefined
  /** Time of the last write, on the monotonic clock. */
  lastWrite: number

  constructor(sink: Sink, settings: ChannelSettings) {
    this.#sink = sink
    this.#settings = settings
    this.lastWrite = settings.timers.now()
    sink.onDrain = () => this.#wake()
    sink.onClose = () => this.#close()
  }

  /** Aborts when nothing can be written any more: it was ended, or the client left. */
  get signal(): AbortSignal {
    return this.#abortController.signal
  }

  /** Whether it can still be written to. */
  get isOpen(): boolean {
    return this.#isOpen
  }

  /** Resolves when the connection is gone; true if it was ended here, false if the client dropped it. */
  get closed(): Promise<boolean> {
    return this.#closed.promise
  }

  /** Whether the buffer is full. */
  get isFull(): boolean {
    return this.#sink.buffered >= this.#settings.maxBufferedBytes
  }

  write(bytes: Uint8Array): void {
    if (!this.isOpen) return
    this.lastWrite = this.#settings.timers.now()
    this.#sink.write(bytes)
  }

  /** Waits until the buffer has room. Closes a stalled connection (law 8). Returns whether the connection is still open. */
  async room(): Promise<boolean> {
    while (this.isOpen && this.isFull) {
      this.watchStall()
      await this.#nextWake()
    }
    return this.isOpen
  }

  /** Runs `work`, which reads and writes, once there is room and fewer than `MAX_CONCURRENT_READS` others run. Returns undefined if the connection is over. */
  async runWithRoom<T>(work: () => Promise<T>): Promise<T | undefined> {
    while (this.isOpen && (this.isFull || this.#reading >= MAX_CONCURRENT_READS)) {
      if (this.isFull) this.watchStall()
      await this.#nextWake()
    }
    if (!this.isOpen) return undefined
    this.#reading++
    try {
      return await work()
    } finally {
      this.#reading--
      this.#wake()
    }
  }

  /** Ends the connection after the buffered bytes. */
  end(): void {
    if (!this.isOpen) return
    this.#isEnded = true
    this.#sink.end()
    this.#abort()
    this.watchStall()
    this.#wake()
  }

  /** Closes the connection at once. Buffered bytes are lost. */
  destroy(): void {
    this.#abort()
    this.#sink.destroy()
  }

  #close(): void {
    this.#isClosed = true
    this.#cancelStall?.()
    this.#closed.resolve(this.#isEnded)
    this.#abort()
    this.#wake()
  }

  #abort(): void {
    this.#isOpen = false
    this.#abortController.abort(CLIENT_GONE)
  }

  /** Closes the connection if the network accepts nothing for `stallMs` (law 8). Any progress restarts the time. */
  watchStall(): void {
    if (this.#cancelStall || this.#isClosed) return
    const { timers, stallMs } = this.#settings
    const { flushed } = this.#sink
    const check = (isRepeated: boolean) => {
      this.#cancelStall = undefined
      if (this.#sink.flushed !== flushed) {
        if (this.#isEnded || this.#waiters.length > 0) this.watchStall()
      } else if (isRepeated) this.destroy()
      // If the process itself was blocked, it has not polled its sockets: check once more.
      else this.#cancelStall = timers.after(0, () => check(true), true)
    }
    this.#cancelStall = timers.after(stallMs, () => check(false), true)
  }

  #nextWake(): Promise<void> {
    return new Promise(resolve => this.#waiters.push(resolve))
  }

  #wake(): void {
    if (!this.isFull && !this.#isEnded) {
      this.#cancelStall?.()
      this.#cancelStall = undefined
    }
    const waiters = this.#waiters
    this.#waiters = []
    for (const wake of waiters) wake()
  }
}
