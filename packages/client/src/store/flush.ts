/** How often those who show something are told of changes at most, in milliseconds: about once a frame of the screen. */
export const FLUSH_MS = 16
/** The longest that a timer can wait. */
const LONGEST_MS = 2 ** 31 - 1

/**
 * Gathers changes, and has them told at most once in an interval: the first at once, what comes after it together. It goes by the clock
 * whenever something comes, so that a source which never rests cannot keep the timer from firing.
 */
export class Flush {
  readonly #intervalMs: number
  readonly #tell: () => void
  #last = -Infinity
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(intervalMs: number, tell: () => void) {
    this.#intervalMs = Math.min(Math.max(0, intervalMs || 0), LONGEST_MS)
    this.#tell = tell
  }

  /** Something has changed. */
  note(): void {
    const rest = this.#last + this.#intervalMs - performance.now()
    if (rest <= 0) this.now()
    else this.#timer ??= setTimeout(() => this.now(), rest)
  }

  /** Tells at once. */
  now(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#last = performance.now()
    this.#tell()
  }
}
