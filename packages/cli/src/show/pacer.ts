import { systemTimers, type Timers } from '@millrace/log'

/** Waits between entries as long as in the recording, divided by the speed, and at most `idleMs`. */
export class Pacer {
  readonly #speed: number
  readonly #idleMs: number
  readonly #timers: Timers
  #lastTimestamp: number | undefined
  /** The due time of the last entry. */
  #due = 0

  constructor(speed: number, idleMs: number, timers: Timers = systemTimers) {
    this.#speed = speed
    this.#idleMs = idleMs
    this.#timers = timers
  }

  /** Waits until an entry with this timestamp is due, or until the signal aborts. */
  async until(timestamp: number, signal: AbortSignal): Promise<void> {
    const now = this.#timers.now()
    const lastTimestamp = this.#lastTimestamp
    this.#lastTimestamp = timestamp
    if (lastTimestamp === undefined) {
      this.#due = now
      return
    }
    const waitMs = Math.min(Math.max(0, timestamp - lastTimestamp) / this.#speed, this.#idleMs)
    // Relative to the previous due time instead of now, so that small delays do not add up.
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

/** Maximum delay that later, shorter waits make up for, in ms. */
const MAX_CATCH_UP_MS = 250
