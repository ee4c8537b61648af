/** How often those who show something are told of changes at most, in milliseconds: about once a frame of the screen. */
export const FLUSH_MS = 16
/** The longest that a timer can wait. */
const LONGEST_MS = 2 ** 31 - 1

/**
 * Gathers changes, and has them told at most once in an interval: the first at once, what comes after it together. It goes by the clock
 * whenever something comes, so that a source which never rests cannot keep the timer from firing.
 *
 * A page that is shown has frames. What comes once in an interval, but not to the millisecond, is told at once there: one may be told
 * early, and is counted. What has to wait is told as the next frame begins, and is in it; where frames are shorter than the interval, as one of the next does.
 */
export class FlushScheduler {
  readonly #intervalMs: number
  readonly #tell: () => void
  /** When it is time for the next, had none been told early. */
  #due = -Infinity
  /** Runs while there is something to tell. */
  #timer: ReturnType<typeof setTimeout> | undefined
  #isAwaited = false

  constructor(intervalMs: number, tell: () => void) {
    this.#intervalMs = Math.min(Math.max(0, intervalMs || 0), LONGEST_MS)
    this.#tell = tell
  }

  /** Something has changed. */
  note(): void {
    const rest = this.#due - performance.now()
    const isFirst = this.#timer === undefined
    if (rest <= (isFirst ? this.#aheadMs : 0)) this.now()
    else if (isFirst) {
      this.#timer = setTimeout(() => this.now(), rest)
      if (this.#aheadMs > 0 && !this.#isAwaited) this.#await()
    }
  }

  /** Tells at once. */
  now(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const now = performance.now()
    this.#due = Math.min(Math.max(this.#due, now), now + 2 * this.#aheadMs) + this.#intervalMs
    this.#tell()
  }

  /** How early something may be told: not at all, where there are no frames, or the interval is longer than theirs. */
  get #aheadMs(): number {
    return this.#intervalMs <= FLUSH_MS && globalThis.document?.hidden === false ? this.#intervalMs : 0
  }

  #await(): void {
    this.#isAwaited = true
    requestAnimationFrame(this.#begin)
  }

  /** A frame begins: some screens have several in an interval. */
  readonly #begin = (): void => {
    this.#isAwaited = false
    if (this.#timer === undefined) return
    if (this.#due - performance.now() <= 2 * this.#intervalMs) this.now()
    else this.#await()
  }
}
