/** Lets nobody pass before so many have come. */
export class Barrier {
  readonly #open = Promise.withResolvers<void>()
  #awaited: number

  constructor(count: number) {
    this.#awaited = count
  }

  /** Resolves when all have come. */
  pass(): Promise<void> {
    if (--this.#awaited === 0) this.#open.resolve()
    return this.#open.promise
  }
}
