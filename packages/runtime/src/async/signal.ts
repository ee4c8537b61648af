/** Repeatable event. `after(count)` resolves on the next one and never misses one in between. */
export class Signal {
  #count = 0
  #next = Promise.withResolvers<void>()

  /** How many times `notify` was called. */
  get count(): number {
    return this.#count
  }

  notify(): void {
    this.#count++
    this.#next.resolve()
    this.#next = Promise.withResolvers()
  }

  /** Resolves once `notify` was called more than `count` times. */
  after(count: number): Promise<void> {
    return this.#count > count ? Promise.resolve() : this.#next.promise
  }
}
