import type { Timers } from '@millrace/log'
import type { Sink } from '../http/reply.ts'
import type { Format } from './format.ts'

export interface OutletSettings {
  readonly timers: Timers
  /** How much may wait for the network before a reader counts as slow, in bytes. */
  readonly maxBuffered: number
  /** For how long a reader may take nothing at all, in milliseconds. */
  readonly stallMs: number
}

/** One connection: bytes go in, no more than there is room for, and it knows when it is over. */
export class Outlet {
  readonly format: Format
  readonly #sink: Sink
  readonly #settings: OutletSettings
  readonly #gone = new AbortController()
  #wakes: (() => void)[] = []
  /** When something was last written, by the monotonic clock. */
  lastWrite: number

  constructor(sink: Sink, format: Format, settings: OutletSettings) {
    this.#sink = sink
    this.format = format
    this.#settings = settings
    this.lastWrite = settings.timers.now()
    sink.onDrain = () => this.#wake()
    sink.onClose = () => {
      this.#gone.abort()
      this.#wake()
    }
  }

  /** Is aborted when the connection is over. */
  get signal(): AbortSignal {
    return this.#gone.signal
  }

  get isOpen(): boolean {
    return !this.#gone.signal.aborted
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
    const { timers, stallMs } = this.#settings
    let cancel: (() => void) | undefined
    while (this.isOpen && this.isFull) {
      cancel ??= timers.after(stallMs, () => this.destroy(), true)
      await new Promise<void>(resolve => this.#wakes.push(resolve))
    }
    cancel?.()
    return this.isOpen
  }

  /** Ends it in good order. */
  end(): void {
    if (this.isOpen) this.#sink.end()
  }

  /** Ends it at once. */
  destroy(): void {
    if (this.isOpen) this.#sink.destroy()
  }

  #wake(): void {
    const wakes = this.#wakes
    this.#wakes = []
    for (const wake of wakes) wake()
  }
}
