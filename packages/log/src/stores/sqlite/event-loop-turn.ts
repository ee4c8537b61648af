/** How long calls may run in one turn of the event loop, in ms. */
const MAX_TURN_MS = 4

/**
 * Yields to the event loop. Synchronous calls are answered within one turn, so many calls in a row would block
 * timers, sockets and the worker's answers.
 */
export class EventLoopTurn {
  #startedAt: number | undefined
  #queue: (() => void)[] = []

  /** How many calls wait for a later turn. */
  get waiting(): number {
    return this.#queue.length
  }

  /** Runs the work now, or in a later turn if this one has lasted too long. Keeps the order of the calls. */
  run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#queue.length === 0 && !this.#isLong()) return work()
    return new Promise(resolve => {
      this.#queue.push(() => resolve(work()))
      if (this.#queue.length === 1) setImmediate(() => this.#advance())
    })
  }

  /** Waits until the next turn. */
  next(): Promise<void> {
    return new Promise(resolve => setImmediate(resolve))
  }

  /** Whether this turn has lasted too long, counted from the first call in it. */
  #isLong(): boolean {
    const now = performance.now()
    if (this.#startedAt === undefined) {
      this.#startedAt = now
      setImmediate(() => {
        this.#startedAt = undefined
      })
    }
    return now - this.#startedAt > MAX_TURN_MS
  }

  #advance(): void {
    let done = 0
    while (done < this.#queue.length && !this.#isLong()) this.#queue[done++]?.()
    this.#queue = this.#queue.slice(done)
    if (this.#queue.length > 0) setImmediate(() => this.#advance())
  }
}
