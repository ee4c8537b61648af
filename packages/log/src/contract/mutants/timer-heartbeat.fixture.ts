import type { Heartbeat, HeldLease, KeptLease } from '../../store/log-store.ts'

/** Faults of a heartbeat. */
export interface HeartbeatFaults {
  readonly neverRenews?: boolean
  readonly renewsAfterStop?: boolean
  readonly renewsAfterClose?: boolean
  readonly renewsWhileBlocked?: boolean
  readonly reportsNothing?: boolean
  /** By how much the confirmed end is too late, in ms. */
  readonly confirmsMs?: number
  /** Renews a lease in place of the store. */
  readonly renew?: RenewLease
}

/** Renews a lease. Returns whether the log still has this epoch. */
export type RenewLease = (streamId: string, epoch: string, ttlMs: number) => Promise<boolean>

/** A heartbeat in the event loop, as the contract expects it of a thread, apart from its faults. */
export class TimerHeartbeat implements Heartbeat {
  readonly #renew: RenewLease
  readonly #faults: HeartbeatFaults
  readonly #timers = new Set<NodeJS.Timeout>()
  #progressAt = performance.now()
  failure: Error | undefined

  constructor(renew: RenewLease, faults: HeartbeatFaults = {}) {
    this.#renew = faults.renew ?? renew
    this.#faults = faults
  }

  async ready(): Promise<boolean> {
    return true
  }

  keep({ streamId, epoch, ttlMs, maxBlockedMs, onLost, onRenewed }: HeldLease): KeptLease {
    const { neverRenews, renewsAfterStop, renewsWhileBlocked, reportsNothing, confirmsMs = 0 } = this.#faults
    this.#progressAt = performance.now()
    let until = Number.NEGATIVE_INFINITY
    const stop = () => {
      clearInterval(timer)
      this.#timers.delete(timer)
    }
    const beat = async () => {
      const askedAt = performance.now()
      if (askedAt - this.#progressAt > maxBlockedMs && !renewsWhileBlocked) return
      const isHeld = await this.#renew(streamId, epoch, ttlMs)
      if (!isHeld) {
        if (!this.#timers.has(timer)) return
        stop()
        if (!reportsNothing) onLost()
        return
      }
      if (until < performance.now() && !reportsNothing) onRenewed()
      until = askedAt + ttlMs + confirmsMs
    }
    const timer = setInterval(() => void (neverRenews ? undefined : beat().catch(() => {})), ttlMs / 3)
    this.#timers.add(timer)
    return {
      get until() {
        return until
      },
      progress: () => {
        this.#progressAt = performance.now()
      },
      stop: () => {
        if (!renewsAfterStop) stop()
      },
    }
  }

  close(): void {
    this.failure = new Error('closed')
    if (!this.#faults.renewsAfterClose) this.end()
  }

  /** Ends it, also with a fault. */
  end(): void {
    for (const timer of this.#timers) clearInterval(timer)
    this.#timers.clear()
  }
}
