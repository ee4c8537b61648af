import { setImmediate as turn } from 'node:timers/promises'

/** Rounds of so many who say one thing each: nobody begins the next before all have begun this one, and a turn of the event loop has passed. */
export class Rounds {
  readonly #width: number
  #awaited: number
  #next = Promise.withResolvers<void>()

  constructor(width: number) {
    this.#width = this.#awaited = width
  }

  /** Resolves when all have come to the end of the round. */
  async end(): Promise<void> {
    const { promise, resolve } = this.#next
    if (--this.#awaited === 0) {
      this.#awaited = this.#width
      this.#next = Promise.withResolvers<void>()
      await turn()
      resolve()
    }
    return promise
  }
}
