// The messages between a heartbeat's thread and the event loop.

/** Data that every thread of a heartbeat gets when it starts. */
export interface HeartbeatData<Connection> {
  /** How the thread opens its own connection: plain data. */
  readonly connection: Connection
  /** Shared: a 32-bit number that changes while the event loop makes progress. */
  readonly progress: SharedArrayBuffer
}

/** A lease as the thread gets it. */
export interface ThreadLease {
  readonly id: number
  readonly streamId: string
  readonly epoch: string
  /** Duration of the lease, in ms. */
  readonly ttlMs: number
  readonly maxBlockedMs: number
  /** Shared: a 64-bit time, when the lease ends, in ns by `process.hrtime`. Zero before the first renewal. */
  readonly until: SharedArrayBuffer
}

export type HeartbeatRequest =
  | { readonly kind: 'keep'; readonly lease: ThreadLease }
  | { readonly kind: 'stop'; readonly id: number }
  | { readonly kind: 'close' }

/**
 * The thread reports when it has tried to connect, and when it has connected at a later try. Then the ids of leases that were
 * lost or renewed after they had expired. It reports a failure before it ends by itself.
 */
export type HeartbeatAnswer =
  | { readonly kind: 'ready'; readonly isConnected: boolean }
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'changed'; readonly lost: readonly number[]; readonly renewed: readonly number[] }
