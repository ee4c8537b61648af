import { setImmediate as turn } from 'node:timers/promises'

/** Barrier: the next round starts one event loop turn after all participants have ended this one. */
export class Rounds {
  readonly #participants: number
  #remaining: number
  #next = Promise.withResolvers<void>()

  constructor(participants: number) {
    this.#participants = this.#remaining = participants
  }

  /** Ends the round of one participant. Resolves when the next round starts. */
  async end(): Promise<void> {
    const { promise, resolve } = this.#next
    if (--this.#remaining === 0) {
      this.#remaining = this.#participants
      this.#next = Promise.withResolvers<void>()
      await turn()
      resolve()
    }
    return promise
  }
}
