/** Resolves when all promises that can settle without a timer have settled. */
export const settled = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

/** Fake clock for tests. Timers fire only when the test advances it. */
export class Clock {
  #now = 1_000_000
  readonly #alarms = new Set<{ readonly at: number; readonly call: () => void }>()

  readonly now = (): number => this.#now

  after(ms: number, call: () => void): () => void {
    const alarm = { at: this.#now + ms, call }
    this.#alarms.add(alarm)
    return () => this.#alarms.delete(alarm)
  }

  /** Number of pending alarms. */
  get alarms(): number {
    return this.#alarms.size
  }

  /** Advances alarm by alarm. Waits after each until the work that it triggers has settled. */
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
