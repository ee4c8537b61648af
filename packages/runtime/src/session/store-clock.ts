import type { Timers } from '@millrace/log'

/**
 * Estimates the store's clock: the last time that the store returned, plus the local time since. Each `update` corrects
 * the drift of the local clock.
 */
export class StoreClock {
  readonly #timers: Timers
  #storeTime = 0
  #localTime = 0

  constructor(timers: Timers, storeTime: number) {
    this.#timers = timers
    this.update(storeTime)
  }

  /** Sets the store's current time. */
  readonly update = (storeTime: number): void => {
    this.#storeTime = storeTime
    this.#localTime = this.#timers.now()
  }

  readonly now = (): number => this.#storeTime + Math.max(0, this.#timers.now() - this.#localTime)
}
