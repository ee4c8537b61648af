/** Lets everything happen that needs no time: all promises that can settle have, when it resolves. */
export const settled = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

/** Time that stands still until a test moves it, for whatever goes by timers. */
export class Clock {
  #now = 1_000_000
  readonly #alarms = new Set<{ readonly at: number; readonly call: () => void }>()

  readonly now = (): number => this.#now

  after(ms: number, call: () => void): () => void {
    const alarm = { at: this.#now + ms, call }
    this.#alarms.add(alarm)
    return () => this.#alarms.delete(alarm)
  }

  /** How many alarms are set. */
  get alarms(): number {
    return this.#alarms.size
  }

  /** Moves on, by one alarm after the other, each with all that follows from it. */
  async advance(ms: number): Promise<void> {
    const to = this.#now + ms
    await settled()
    for (;;) {
      const [next] = [...this.#alarms].filter(({ at }) => at <= to).sort((a, b) => a.at - b.at)
      if (next === undefined) break
      this.#alarms.delete(next)
      this.#now = Math.max(this.#now, next.at)
      next.call()
      await settled()
    }
    this.#now = to
  }
}
