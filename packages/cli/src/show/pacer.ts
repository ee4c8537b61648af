import { systemTimers, type Timers } from '@millrace/log'

/** Waits between entries as long as it took then, at another speed; never longer than `idleMs`. */
export class Pacer {
  readonly #speed: number
  readonly #idleMs: number
  readonly #timers: Timers
  #before: number | undefined
  /** When the next would be shown, were nothing late. */
  #due = 0

  constructor(speed: number, idleMs: number, timers: Timers = systemTimers) {
    this.#speed = speed
    this.#idleMs = idleMs
    this.#timers = timers
  }

  /** Waits until what was written at this time is to be shown, or until the signal aborts. */
  async until(timestamp: number, signal: AbortSignal): Promise<void> {
    const now = this.#timers.now()
    const before = this.#before
    this.#before = timestamp
    if (before === undefined) {
      this.#due = now
      return
    }
    const waitMs = Math.min(Math.max(0, timestamp - before) / this.#speed, this.#idleMs)
    // Counted from when the one before was due, so that small waits do not add up to a large one.
    this.#due = Math.max(this.#due, now - LATE_MS) + waitMs
    if (this.#due - now < 1 || signal.aborted) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const cancel = this.#timers.after(this.#due - now, resolve)
    const abort = () => resolve()
    signal.addEventListener('abort', abort)
    await promise
    signal.removeEventListener('abort', abort)
    cancel()
  }
}

/** Who is later than this does not make up for it. */
const LATE_MS = 250
