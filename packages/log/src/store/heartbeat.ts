/** A lease that a heartbeat renews. */
export interface HeldLease {
  /** Id of the log. */
  readonly streamId: string
  /** The epoch of the claim. */
  readonly epoch: string
  /** Duration of the lease, in ms. It is renewed at least three times in this time. */
  readonly ttlMs: number
  /** How long the lease is renewed without progress of the event loop, in ms. */
  readonly maxBlockedMs: number
  /** Called when the store has another epoch, or none. The heartbeat does not renew this lease any more. */
  readonly onLost: () => void
  /** Called when a lease that had expired was renewed. */
  readonly onRenewed: () => void
}

/** A lease while a heartbeat renews it. */
export interface KeptLease {
  /**
   * Until when the lease is certainly valid by the renewals that the store confirmed, in ms by `performance.now()`.
   * Counted from before the request. Negative infinity before the first renewal.
   */
  readonly until: number
  /** Reports that the event loop makes progress. */
  progress(): void
  /** Stops the renewals, before a release. */
  stop(): void
}

/** Renews the leases of this process while its event loop is blocked. The contract suite tests it. */
export interface Heartbeat {
  /** Why it cannot renew leases. Undefined while it can, as far as known. */
  readonly failure: Error | undefined
  /**
   * Resolves when it has tried to connect to the store: to true if it can renew leases. Call it before a claim, which may be
   * short only then.
   */
  ready(): Promise<boolean>
  /** Renews a lease from now on, until it is stopped or lost. */
  keep(lease: HeldLease): KeptLease
}
