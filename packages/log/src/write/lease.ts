import type { LogStore } from '../store/log-store.ts'
import type { Timers } from '../store/timers.ts'

/** A lease on a log that renews itself three times in its duration, until it is lost or released. */
export class Lease {
  readonly #renew: () => ReturnType<LogStore['renew']>
  readonly #timers: Timers
  readonly #ms: number
  readonly #onLost: () => void
  #until: number
  #cancel: (() => void) | undefined
  #renewed: PromiseWithResolvers<void> | undefined

  /** `askedAt`: the time just before the claim, by the same timers. */
  constructor(
    renew: () => ReturnType<LogStore['renew']>,
    timers: Timers,
    ms: number,
    askedAt: number,
    onLost: () => void,
  ) {
    this.#renew = renew
    this.#timers = timers
    this.#ms = ms
    this.#until = askedAt + ms
    this.#onLost = onLost
    this.#schedule(ms / 3)
  }

  /** Whether the lease is certainly valid: counted from before the request, on this process's clock. */
  get isValid(): boolean {
    return this.#cancel !== undefined && this.#timers.now() < this.#until
  }

  /** Waits until the lease is certainly valid. Returns at once if it is, or if it has ended. */
  async whenValid(): Promise<void> {
    while (!this.isValid && this.#cancel !== undefined) {
      this.#renewed ??= Promise.withResolvers()
      await this.#renewed.promise
    }
  }

  /** Stops renewing. */
  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
    this.#notify()
  }

  #notify(): void {
    this.#renewed?.resolve()
    this.#renewed = undefined
  }

  #schedule(ms: number): void {
    this.#cancel = this.#timers.after(ms, () => void this.#renewNow(), true)
  }

  async #renewNow(): Promise<void> {
    const askedAt = this.#timers.now()
    // A store that cannot be reached is retried soon: the lease may still be valid.
    const renewed = await this.#renew().catch(() => null)
    if (this.#cancel === undefined) return
    if (renewed === undefined) {
      this.stop()
      this.#onLost()
      return
    }
    if (renewed) this.#until = askedAt + this.#ms
    this.#schedule(this.#ms / (renewed ? 3 : 10))
    if (renewed) this.#notify()
  }
}
