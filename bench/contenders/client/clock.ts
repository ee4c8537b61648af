/** Time between two screen frames, in ms. */
export const SCREEN_MS = 16

interface Timer {
  readonly at: number
  readonly run: () => void
}

/**
 * Fake clock that replaces the clock and timers of the process. Only `advance` moves it and fires the timers that are due.
 * So code that depends on screen frames behaves as in real time, without waiting.
 */
export class Clock {
  #now = 0
  #timers = new Map<number, Timer>()
  #last = 0

  /** Replaces the real clock while the callback runs. */
  async during<T>(work: () => T | Promise<T>): Promise<T> {
    const { setTimeout, clearTimeout } = globalThis
    // Starts at the real time, because inputs were prepared with it.
    this.#now = Math.ceil(performance.now())
    const set = (run: () => void, ms = 0) => {
      this.#timers.set(++this.#last, { at: this.#now + ms, run })
      return this.#last
    }
    const clear = (timer?: number) => void (timer === undefined || this.#timers.delete(timer))
    Object.assign(globalThis, { setTimeout: set, clearTimeout: clear })
    Object.defineProperty(performance, 'now', { value: () => this.#now, configurable: true })
    try {
      return await work()
    } finally {
      Object.assign(globalThis, { setTimeout, clearTimeout })
      Reflect.deleteProperty(performance, 'now')
    }
  }

  /** Advances the clock by `ms`. */
  advance(ms: number): void {
    this.#now += ms
    if (this.#timers.size === 0) return
    for (const [timer, { at, run }] of this.#timers) {
      if (at > this.#now) continue
      this.#timers.delete(timer)
      run()
    }
  }
}
