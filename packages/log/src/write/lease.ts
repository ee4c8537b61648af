import type { KeptLease } from '../store/heartbeat.ts'
import type { LogStore } from '../store/log-store.ts'
import type { LeaseTerms } from './lease-terms.ts'

/** The lease of a claim. */
export interface ClaimedLease {
  readonly streamId: string
  readonly epoch: string
  /** Duration, in ms. */
  readonly leaseMs: number
  /** The time just before the claim, by the timers of the terms. */
  readonly askedAt: number
}

/** How often per lease the event loop renews it, or checks that the heartbeat does. */
const CHECKS_PER_LEASE = 3
/**
 * The event loop renews a lease itself if less than this part of its duration is left. More than an interval between two
 * checks, so that it does not expire before the next one. Less than what a heartbeat leaves, which renews it at two thirds.
 */
const MIN_PART_LEFT = 0.55
/** How often per lease a failed renewal is tried again. */
const RETRIES_PER_LEASE = 10

/**
 * A lease on a log that is renewed until it is lost or released: by the heartbeat of the store if there is one, and by the
 * event loop otherwise. The event loop also renews what the heartbeat neglects.
 */
export class Lease {
  readonly #store: LogStore
  readonly #terms: LeaseTerms
  readonly #claimed: ClaimedLease
  readonly #kept: KeptLease | undefined
  /** Until when the lease is valid by the renewals of the event loop. */
  #until: number
  #cancel: (() => void) | undefined
  #renewed: PromiseWithResolvers<void> | undefined
  #isLost = false
  #onLost = () => {}

  constructor(store: LogStore, terms: LeaseTerms, claimed: ClaimedLease) {
    const { streamId, epoch, leaseMs, askedAt } = claimed
    this.#store = store
    this.#terms = terms
    this.#claimed = claimed
    this.#until = askedAt + leaseMs
    this.#kept = terms.heartbeat?.keep({
      streamId,
      epoch,
      ttlMs: leaseMs,
      maxBlockedMs: Math.max(terms.maxBlockedMs, leaseMs),
      onLost: () => this.#lose(),
      onRenewed: () => this.#notify(),
    })
    this.#schedule(leaseMs / CHECKS_PER_LEASE)
  }

  /** Whether the lease is certainly valid: counted from before the request, on this process's clock. */
  get isValid(): boolean {
    return this.#cancel !== undefined && this.#terms.timers.now() < this.#validUntil
  }

  /** Calls back when another process has the log, or no process. At once if that was found before. */
  whenLost(onLost: () => void): void {
    this.#onLost = onLost
    if (this.#isLost) onLost()
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
    this.#kept?.stop()
    this.#cancel?.()
    this.#cancel = undefined
    this.#notify()
  }

  get #validUntil(): number {
    // A heartbeat works only with the system's timers, whose clock is `performance.now()`.
    return Math.max(this.#until, this.#kept?.until ?? this.#until)
  }

  #lose(): void {
    if (this.#cancel === undefined) return
    this.stop()
    this.#isLost = true
    this.#onLost()
  }

  #notify(): void {
    this.#renewed?.resolve()
    this.#renewed = undefined
  }

  #schedule(ms: number): void {
    this.#cancel = this.#terms.timers.after(ms, () => void this.#check(), true)
  }

  async #check(): Promise<void> {
    const { timers, heartbeat, eventLoopLeaseMs } = this.#terms
    const { streamId, epoch, leaseMs } = this.#claimed
    const isKept = this.#kept !== undefined && heartbeat !== undefined
    const ms = isKept ? leaseMs : eventLoopLeaseMs
    this.#kept?.progress()
    const askedAt = timers.now()
    if (isKept && this.#validUntil - askedAt > ms * MIN_PART_LEFT) {
      this.#schedule(ms / CHECKS_PER_LEASE)
      // The heartbeat reports only the renewals of leases that had expired when it looked.
      this.#notify()
      return
    }
    // A store that cannot be reached is retried soon: the lease may still be valid.
    const renewed = await this.#store.renew(streamId, epoch, ms).catch(() => null)
    if (this.#cancel === undefined) return
    if (renewed === undefined) {
      this.#lose()
      return
    }
    if (renewed) this.#until = askedAt + ms
    this.#schedule(ms / (renewed ? CHECKS_PER_LEASE : RETRIES_PER_LEASE))
    if (renewed) this.#notify()
  }
}
