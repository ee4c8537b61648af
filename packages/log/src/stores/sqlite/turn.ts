/** For how long calls may be done one after another before the event loop gets its turn, in milliseconds. */
const LONGEST = 4

/**
 * The turns of the event loop. What is done at once is answered within one, so that who makes one call after another, or many together,
 * would keep everybody else waiting: timers, sockets, and the answers of the worker.
 */
export class EventLoopTurn {
  #began: number | undefined
  #line: (() => void)[] = []

  /** How many wait for their turn. */
  get waiting(): number {
    return this.#line.length
  }

  /** Does the work now or, where this turn has lasted long, in a later one; in the order in which it was asked for. */
  run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#line.length === 0 && !this.#isLong()) return work()
    return new Promise(resolve => {
      this.#line.push(() => resolve(work()))
      if (this.#line.length === 1) setImmediate(() => this.#advance())
    })
  }

  /** Waits until the next turn. */
  next(): Promise<void> {
    return new Promise(resolve => setImmediate(resolve))
  }

  /** The first time that this is asked in a turn is taken for its beginning. */
  #isLong(): boolean {
    const now = performance.now()
    if (this.#began === undefined) {
      this.#began = now
      setImmediate(() => {
        this.#began = undefined
      })
    }
    return now - this.#began > LONGEST
  }

  #advance(): void {
    let done = 0
    while (done < this.#line.length && !this.#isLong()) this.#line[done++]?.()
    this.#line = this.#line.slice(done)
    if (this.#line.length > 0) setImmediate(() => this.#advance())
  }
}
