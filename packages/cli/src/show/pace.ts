import { setTimeout } from 'node:timers/promises'

/** Waits between entries as long as it took then, at another speed; never longer than `idleMs`. */
export class Pace {
  readonly #speed: number
  readonly #idleMs: number
  #before: number | undefined
  /** When the next would be shown, were nothing late. */
  #due = 0

  constructor(speed: number, idleMs: number) {
    this.#speed = speed
    this.#idleMs = idleMs
  }

  /** Waits until what was written at this time is to be shown. */
  async until(timestamp: number, signal: AbortSignal): Promise<void> {
    const now = performance.now()
    const since = this.#before === undefined ? 0 : Math.max(0, timestamp - this.#before)
    this.#before = timestamp
    // Counted from when the one before was due, so that small waits do not add up to a large one.
    this.#due = Math.max(this.#due, now - LATE_MS) + Math.min(since / this.#speed, this.#idleMs)
    if (this.#due - now < 1) return
    await setTimeout(this.#due - now, undefined, { signal }).catch(() => {})
  }
}

/** Who is later than this does not make up for it. */
const LATE_MS = 250
