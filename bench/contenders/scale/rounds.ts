import { setImmediate as turn } from 'node:timers/promises'

/** Barrier: no participant starts the next round before all have started this one and an event loop turn has passed. */
export class Rounds {
  readonly #width: number
  #awaited: number
  #next = Promise.withResolvers<void>()

  constructor(width: number) {
    this.#width = this.#awaited = width
  }

  /** Resolves when all participants have reached the end of the round. */
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
