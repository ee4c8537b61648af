import type { Heartbeat } from '../store/heartbeat.ts'
import { LogError } from '../store/log-error.ts'
import type { LogStore } from '../store/log-store.ts'
import { systemTimers, type Timers } from '../store/timers.ts'

/** Settings of the leases of a manager. */
export interface LeaseSettings {
  readonly store: LogStore
  readonly timers: Timers
  /** Duration of a lease, in ms; undefined for the default, which depends on how it is renewed. */
  readonly leaseMs: number | undefined
  /** How long leases are renewed while the event loop is blocked, in ms. */
  readonly maxBlockedMs: number
  /** Called once, when leases have to be renewed by the event loop because the heartbeat failed. */
  readonly onHeartbeatFailed: (error: Error) => void
}

/** Default duration of a lease that a heartbeat renews, in ms. */
const HEARTBEAT_LEASE_MS = 3000
/** Default duration of a lease that the event loop renews, in ms. It must outlast the event loop's longest task. */
const EVENT_LOOP_LEASE_MS = 30_000

/** How long the first claim waits for a heartbeat that starts, in ms. Later ones do not wait for one that hangs. */
const MAX_START_MS = 5000

/** How long the leases of a manager are, and by what they are renewed. */
export class LeaseTerms {
  readonly timers: Timers
  readonly maxBlockedMs: number
  readonly #settings: LeaseSettings
  #heartbeat: Heartbeat | undefined
  #isOpen = false
  #isReported = false
  #waitMs = MAX_START_MS

  constructor(settings: LeaseSettings) {
    this.#settings = settings
    this.timers = settings.timers
    this.maxBlockedMs = settings.maxBlockedMs
  }

  /** The heartbeat of the store; undefined if the event loop renews the leases. */
  get heartbeat(): Heartbeat | undefined {
    const { store, timers, onHeartbeatFailed } = this.#settings
    // A heartbeat has its own clock, so it cannot follow another one.
    if (!this.#isOpen && timers === systemTimers) this.#heartbeat = store.heartbeat
    this.#isOpen = true
    const failure = this.#heartbeat?.failure
    if (failure === undefined) return this.#heartbeat
    if (!this.#isReported && !isClosed(failure)) onHeartbeatFailed(failure)
    this.#isReported = true
    return undefined
  }

  /**
   * The duration of the lease of a claim, in ms. Waits until the heartbeat can renew it, since code that blocks the event loop
   * may be the next that runs.
   */
  async leaseOfClaim(): Promise<number> {
    const isReady = await this.#isReady()
    return this.#settings.leaseMs ?? (isReady ? HEARTBEAT_LEASE_MS : EVENT_LOOP_LEASE_MS)
  }

  /** The duration of a lease that the event loop renews, in ms. */
  get eventLoopLeaseMs(): number {
    return this.#settings.leaseMs ?? EVENT_LOOP_LEASE_MS
  }

  async #isReady(): Promise<boolean> {
    const { heartbeat } = this
    if (heartbeat === undefined) return false
    const isLate = Promise.withResolvers<boolean>()
    const cancel = this.timers.after(this.#waitMs, () => {
      this.#waitMs = 0
      isLate.resolve(false)
    })
    const isReady = await Promise.race([heartbeat.ready(), isLate.promise])
    cancel()
    return isReady && this.heartbeat !== undefined
  }
}

const isClosed = (error: Error): boolean => error instanceof LogError && error.code === 'closed'
