/** The time between two frames of a screen, in milliseconds. */
export const SCREEN_MS = 16

interface Timer {
  readonly at: number
  readonly run: () => void
}

/**
 * The clock of a process while something runs in it: it stands still but for `pass`, which fires the timers that are due. So what goes by
 * frames of a screen goes as it would, and nobody waits.
 */
export class Clock {
  #now = 0
  #timers = new Map<number, Timer>()
  #last = 0

  /** Takes the place of the process's own clock until it is done. */
  async during<T>(work: () => T | Promise<T>): Promise<T> {
    const { setTimeout, clearTimeout } = globalThis
    // It goes on from the real one, by which things were made ready.
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

  /** Lets so many milliseconds go by. */
  pass(ms: number): void {
    this.#now += ms
    if (this.#timers.size === 0) return
    for (const [timer, { at, run }] of this.#timers) {
      if (at > this.#now) continue
      this.#timers.delete(timer)
      run()
    }
  }
}
