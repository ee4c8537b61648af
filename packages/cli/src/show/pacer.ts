import { systemTimers, type Timers } from '@millrace/log'

/** Waits between entries as recorded, scaled by the speed, at most `idleMs`. */
export class Pacer {
  readonly #speed: number
  readonly #idleMs: number
  readonly #timers: Timers
  #before: number | undefined
  /** The time at which the next entry is due if nothing is late. */
  #due = 0

  constructor(speed: number, idleMs: number, timers: Timers = systemTimers) {
    this.#speed = speed
    this.#idleMs = idleMs
    this.#timers = timers
  }

  /** Waits until an entry with this timestamp is due, or until the signal aborts. */
  async until(timestamp: number, signal: AbortSignal): Promise<void> {
    const now = this.#timers.now()
    const before = this.#before
    this.#before = timestamp
    if (before === undefined) {
      this.#due = now
      return
    }
    const waitMs = Math.min(Math.max(0, timestamp - before) / this.#speed, this.#idleMs)
    // Relative to the due time of the entry before, so that small delays do not add up.
    this.#due = Math.max(this.#due, now - MAX_CATCH_UP_MS) + waitMs
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

/** The maximum delay that is made up for, in ms. */
const MAX_CATCH_UP_MS = 250
