import type { Timers } from '@millrace/log'

/** The store's clock, as far as it is known here: what the store said last, and what has passed here since. Whose own clock stands still or runs fast is put right by each look at the store. */
export class StoreClock {
  readonly #timers: Timers
  #said = 0
  #saidAt = 0

  constructor(timers: Timers, said: number) {
    this.#timers = timers
    this.update(said)
  }

  /** What the store says, just now. */
  readonly update = (said: number): void => {
    this.#said = said
    this.#saidAt = this.#timers.now()
  }

  readonly now = (): number => this.#said + Math.max(0, this.#timers.now() - this.#saidAt)
}
