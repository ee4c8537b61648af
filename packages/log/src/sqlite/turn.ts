/** For how long calls may be answered one after another before the event loop gets its turn, in milliseconds. */
const LONGEST = 4

/**
 * The present turn of the event loop. What is done at once is answered within it, so that who makes one call after another would keep
 * everybody else waiting: timers, sockets, and the answers of the worker.
 */
export class Turn {
  #began: number | undefined

  /** Whether this turn has lasted long; the first time that this is asked is taken for its beginning. */
  get isLong(): boolean {
    const now = performance.now()
    if (this.#began === undefined) {
      this.#began = now
      setImmediate(() => {
        this.#began = undefined
      })
    }
    return now - this.#began > LONGEST
  }

  /** Waits for the next turn. */
  next(): Promise<void> {
    return new Promise(resolve => setImmediate(resolve))
  }
}
