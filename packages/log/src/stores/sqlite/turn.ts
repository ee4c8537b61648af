/** How long calls may run in one turn of the event loop, in ms. */
const LONGEST = 4

/**
 * Yields to the event loop. Synchronous calls are answered within one turn, so many calls in a row would block
 * timers, sockets and the worker's answers.
 */
export class EventLoopTurn {
  #began: number | undefined
  #line: (() => void)[] = []

  /** How many calls wait for a later turn. */
  get waiting(): number {
    return this.#line.length
  }

  /** Runs the work now, or in a later turn if this one has lasted too long. Keeps the order of the calls. */
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

  /** Whether this turn has lasted too long, counted from the first call in it. */
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
