/** For how long calls may be answered one after another before the event loop gets its turn, in milliseconds. */
const LONGEST = 4

/**
 * The present turn of the event loop. A call that is done at once is answered within it, so that a caller who makes one after another would
 * keep everybody else waiting: timers, sockets, and the answers of the worker.
 */
export class Turn {
  #began: number | undefined

  /** Waits for the next turn if this one has lasted long; undefined if there is nothing to wait for. */
  pause(): Promise<void> | undefined {
    const now = performance.now()
    if (this.#began === undefined) {
      this.#began = now
      setImmediate(() => {
        this.#began = undefined
      })
    }
    if (now - this.#began < LONGEST) return undefined
    return new Promise(resolve => setImmediate(resolve))
  }
}
