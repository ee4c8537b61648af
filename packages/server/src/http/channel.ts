import type { Timers } from '@millrace/log'
import type { Sink } from './reply.ts'

/** Abort reason for requests and connections whose client left. One object for all of them: a new error each would capture a stack trace. */
export const CLIENT_GONE = new DOMException('the client disconnected', 'AbortError')

export interface ChannelSettings {
  readonly timers: Timers
  /** How much may wait for the network before a reader counts as slow, in bytes. */
  readonly maxBuffered: number
  /** For how long a reader may take nothing at all, in milliseconds. */
  readonly stallMs: number
}

/** How many of those who share a connection may read for it at a time: what they have read is written at once. */
const READING = 2

/** One connection: bytes go in, no more than there is room for, and it knows when it is over. */
export class Channel {
  readonly #sink: Sink
  readonly #settings: ChannelSettings
  readonly #over = new AbortController()
  readonly #closed = Promise.withResolvers<boolean>()
  #wakes: (() => void)[] = []
  /** What the signal says, where it is asked for with every write: an `AbortSignal` is slow to say it. */
  #isOpen = true
  #isEnded = false
  #isClosed = false
  #reading = 0
  #cancelStall: (() => void) | undefined
  /** When something was last written, by the monotonic clock. */
  lastWrite: number

  constructor(sink: Sink, settings: ChannelSettings) {
    this.#sink = sink
    this.#settings = settings
    this.lastWrite = settings.timers.now()
    sink.onDrain = () => this.#wake()
    sink.onClose = () => this.#close()
  }

  /** Is aborted when nothing more can be said: it was ended here, or the other side is gone. */
  get signal(): AbortSignal {
    return this.#over.signal
  }

  /** Whether something can still be said. */
  get isOpen(): boolean {
    return this.#isOpen
  }

  /** Resolves when the connection is gone: with whether it was ended here, in good order. */
  get closed(): Promise<boolean> {
    return this.#closed.promise
  }

  /** Whether what was written waits for the network. */
  get isFull(): boolean {
    return this.#sink.buffered >= this.#settings.maxBuffered
  }

  write(bytes: Uint8Array): void {
    if (!this.isOpen) return
    this.lastWrite = this.#settings.timers.now()
    this.#sink.write(bytes)
  }

  /** Waits until the network has taken what was written, and closes the connection where it takes nothing for too long (law 8); whether it is still open. */
  async room(): Promise<boolean> {
    while (this.isOpen && this.isFull) {
      this.watchStall()
      await this.#waken()
    }
    return this.isOpen
  }

  /** Does what reads something and writes it, once there is room, and few at a time, however many share the connection; undefined once it is over. */
  async turn<T>(work: () => Promise<T>): Promise<T | undefined> {
    while (this.isOpen && (this.isFull || this.#reading >= READING)) {
      if (this.isFull) this.watchStall()
      await this.#waken()
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

  /** Ends it in good order: what was written still goes out, if it is taken. */
  end(): void {
    if (!this.isOpen) return
    this.#isEnded = true
    this.#sink.end()
    this.#abort()
    this.watchStall()
    this.#wake()
  }

  /** Ends it at once, with what was not taken yet lost. */
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
    this.#over.abort(CLIENT_GONE)
  }

  /** Closes it where nothing at all is taken of what waits for too long (law 8); who takes something, however little, is given time again. */
  watchStall(): void {
    if (this.#cancelStall || this.#isClosed) return
    const { timers, stallMs } = this.#settings
    const { taken } = this.#sink
    const look = (isSure: boolean) => {
      this.#cancelStall = undefined
      if (this.#sink.taken !== taken) {
        if (this.#isEnded || this.#wakes.length > 0) this.watchStall()
      } else if (isSure) this.destroy()
      // A process that was busy for so long has not looked at its sockets either.
      else this.#cancelStall = timers.after(0, () => look(true), true)
    }
    this.#cancelStall = timers.after(stallMs, () => look(false), true)
  }

  #waken(): Promise<void> {
    return new Promise(resolve => this.#wakes.push(resolve))
  }

  #wake(): void {
    if (!this.isFull && !this.#isEnded) {
      this.#cancelStall?.()
      this.#cancelStall = undefined
    }
    const wakes = this.#wakes
    this.#wakes = []
    for (const wake of wakes) wake()
  }
}
