/** A lease as it is in the file. */
export interface LeaseRecord {
  readonly epoch: string
  /** When it ends, by the clock of the process that renewed it last, in ms. */
  readonly until: number
  /** Its duration, in ms. Undefined if a process of an earlier release claimed the log. */
  readonly ttlMs: number | undefined
}

interface ObservedLease {
  readonly lease: LeaseRecord
  /** When it was seen first. */
  readonly since: number
}

/** Maximum number of leases in memory. The one that was seen least recently is forgotten first. */
const MAX_OBSERVED = 10_000

/**
 * Judges whether a lease has expired by the time for which this process has seen it unchanged. So it compares no clocks of
 * different processes, and a wall clock that is ahead, or jumps, does not end a lease.
 */
export class LeaseObserver {
  readonly #now: () => number
  readonly #observed = new Map<string, ObservedLease>()

  /** `now`: a clock of this process that does not jump, in ms. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Notes the lease of a log. */
  note(streamId: string, lease: LeaseRecord): void {
    const before = this.#observed.get(streamId)
    const isSame = before?.lease.epoch === lease.epoch && before.lease.until === lease.until
    const since = isSame ? before.since : this.#now()
    this.#observed.delete(streamId)
    this.#observed.set(streamId, { lease, since })
    if (this.#observed.size <= MAX_OBSERVED) return
    const [oldest = ''] = this.#observed.keys()
    this.#observed.delete(oldest)
  }

  /** How long the lease of a log may still be valid, in ms. Zero or less if it has certainly expired. */
  remainingMs(streamId: string, lease: LeaseRecord): number {
    this.note(streamId, lease)
    const { since } = this.#observed.get(streamId) as ObservedLease
    return since + (lease.ttlMs ?? 0) - this.#now()
  }

  /** The lease of a log that has certainly expired, if it did not change since it was noted. */
  expired(streamId: string): LeaseRecord | undefined {
    const observed = this.#observed.get(streamId)
    if (observed?.lease.ttlMs === undefined) return undefined
    return observed.since + observed.lease.ttlMs <= this.#now() ? observed.lease : undefined
  }
}
