/** Default interval between notifications, in ms: about one frame. */
export const FLUSH_MS = 16
/** Longest delay that `setTimeout` accepts, in ms. */
const MAX_DELAY_MS = 2 ** 31 - 1

/**
 * Batches changes: flushes at most once per interval, the first change at once. Each change checks the clock, so that a source
 * that never yields to timers is flushed too.
 *
 * In a visible page, flushes align with animation frames. A change that is less than one interval early is flushed at once, and the
 * next flush is due later by as much. A delayed change is flushed when a frame begins, so that this frame renders it.
 */
export class FlushScheduler {
  readonly #intervalMs: number
  readonly #onFlush: () => void
  /** When the next flush is due. An early flush adds one interval to it, as if it had been on time. */
  #dueAt = -Infinity
  /** Set while changes wait for a flush. */
  #timer: ReturnType<typeof setTimeout> | undefined
  #isFrameRequested = false

  constructor(intervalMs: number, onFlush: () => void) {
    this.#intervalMs = Math.min(Math.max(0, intervalMs || 0), MAX_DELAY_MS)
    this.#onFlush = onFlush
  }

  /** Flushes now or within the interval. */
  schedule(): void {
    const delayMs = this.#dueAt - performance.now()
    const isFirst = this.#timer === undefined
    if (delayMs <= (isFirst ? this.#maxEarlyMs : 0)) this.flush()
    else if (isFirst) {
      this.#timer = setTimeout(() => this.flush(), delayMs)
      if (this.#maxEarlyMs > 0 && !this.#isFrameRequested) this.#requestFrame()
    }
  }

  /** Flushes now. */
  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const now = performance.now()
    this.#dueAt = Math.min(Math.max(this.#dueAt, now), now + 2 * this.#maxEarlyMs) + this.#intervalMs
    this.#onFlush()
  }

  /** How early a flush may be. Zero without frames, or if the interval is longer than a frame. */
  get #maxEarlyMs(): number {
    return this.#intervalMs <= FLUSH_MS && globalThis.document?.hidden === false ? this.#intervalMs : 0
  }

  /** Does nothing without animation frames, as in a document of a test: the timer flushes. */
  #requestFrame(): void {
    this.#isFrameRequested = true
    globalThis.requestAnimationFrame?.(this.#onFrame)
  }

  /** A screen may have several frames per interval, so a frame can come too soon. */
  readonly #onFrame = (): void => {
    this.#isFrameRequested = false
    if (this.#timer === undefined) return
    if (this.#dueAt - performance.now() <= 2 * this.#intervalMs) this.flush()
    else this.#requestFrame()
  }
}
