/** Something that happens again and again; who waits for the next time misses none in between. */
export class Bell {
  #count = 0
  #next = Promise.withResolvers<void>()

  /** How often it rang so far. */
  get count(): number {
    return this.#count
  }

  ring(): void {
    this.#count++
    this.#next.resolve()
    this.#next = Promise.withResolvers()
  }

  /** Resolves once it has rung more often than that. */
  after(count: number): Promise<void> {
    return this.#count > count ? Promise.resolve() : this.#next.promise
  }
}
