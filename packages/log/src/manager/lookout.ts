// How a writer learns that somebody else has moved the ticket. Its own appends wake it too, so it looks only where they do not already show
// that nobody came between: the store gives sequences without gaps, and only guests write beside a writer.

import type { Timers } from './timers.ts'

export class Lookout {
  readonly #timers: Timers
  readonly #quietMs: number
  readonly #look: () => Promise<unknown>
  readonly #stopWatch: () => void
  /** How often the store woke, and how many of those times are accounted for. */
  #wakes = 0
  #seen = 0
  #cancel: (() => void) | undefined
  #isOver = false

  constructor(watch: (wake: () => void) => () => void, timers: Timers, quietMs: number, look: () => Promise<unknown>) {
    this.#timers = timers
    this.#quietMs = quietMs
    this.#look = look
    this.#stopWatch = watch(() => this.#wake())
  }

  /** A mark for an append that goes out now. */
  get mark(): number {
    return this.#wakes
  }

  /** An append is in the log: either next to the one before it, or with something of others in between. */
  appended(mark: number, isNext: boolean): void {
    if (isNext) this.#seen = Math.max(this.#seen, mark)
    else this.#go()
  }

  stop(): void {
    this.#isOver = true
    this.#cancel?.()
    this.#stopWatch()
  }

  #wake(): void {
    this.#wakes++
    this.#later()
  }

  #later(): void {
    if (this.#isOver) return
    this.#cancel ??= this.#timers.after(
      this.#quietMs,
      () => {
        this.#cancel = undefined
        if (this.#wakes > this.#seen) this.#go()
      },
      true,
    )
  }

  #go(): void {
    if (this.#isOver) return
    const { mark } = this
    // A writer that cannot look is told so by its own appends.
    this.#look().then(
      () => {
        this.#seen = Math.max(this.#seen, mark)
        if (this.#wakes > this.#seen) this.#later()
      },
      () => {},
    )
  }
}
