import type { LogStore } from '../store/log-store.ts'
import type { Timers } from '../store/timers.ts'

/** A claim on a log that renews itself, three times in the time it lasts, until it is lost or let go. */
export class Lease {
  readonly #renew: () => ReturnType<LogStore['renew']>
  readonly #timers: Timers
  readonly #ms: number
  readonly #onLost: () => void
  #until: number
  #cancel: (() => void) | undefined
  #renewed: PromiseWithResolvers<void> | undefined

  /** `askedAt`: by the same timers, from before the claim was asked for. */
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
    this.#later(ms / 3)
  }

  /** Whether the lease surely lasts: counted from before it was asked for, on this process's own clock. */
  get isSure(): boolean {
    return this.#cancel !== undefined && this.#timers.now() < this.#until
  }

  /** Waits until the lease surely lasts; at once where it does, or where it is over. */
  async sure(): Promise<void> {
    while (!this.isSure && this.#cancel !== undefined) {
      this.#renewed ??= Promise.withResolvers()
      await this.#renewed.promise
    }
  }

  /** Renews no more. */
  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
    this.#tell()
  }

  #tell(): void {
    this.#renewed?.resolve()
    this.#renewed = undefined
  }

  #later(ms: number): void {
    // A process that has nothing else to do may end: its lease runs out.
    this.#cancel = this.#timers.after(ms, () => void this.#again(), true)
  }

  async #again(): Promise<void> {
    const askedAt = this.#timers.now()
    // A store out of reach is asked again, soon: the lease may still be ours.
    const renewed = await this.#renew().catch(() => null)
    if (this.#cancel === undefined) return
    if (renewed === undefined) {
      this.stop()
      this.#onLost()
      return
    }
    if (renewed) this.#until = askedAt + this.#ms
    this.#later(this.#ms / (renewed ? 3 : 10))
    if (renewed) this.#tell()
  }
}
