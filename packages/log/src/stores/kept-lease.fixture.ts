import { setTimeout as pause } from 'node:timers/promises'
import type { KeptLease } from '../store/heartbeat.ts'
import type { LogStore } from '../store/log-store.ts'

const POLL_MS = 10
const TTL_MS = 300

/** A lease of a new log, and the heartbeat that renews it. */
export interface KeptLog {
  readonly store: LogStore
  readonly lease: KeptLease
}

/** Claims a new log, and waits until the heartbeat of the store has renewed its lease. @throws if the heartbeat has failed. */
export async function keptLease(store: LogStore): Promise<KeptLog> {
  await store.create('kept', null)
  const claim = await store.claim('kept', 'me', 60_000, false)
  if (claim.outcome !== 'claimed') throw new Error(`claim: expected claimed, found ${claim.outcome}`)
  const { heartbeat } = store
  if (heartbeat === undefined) throw new Error('the store has no heartbeat')
  const lease = heartbeat.keep({
    streamId: 'kept',
    epoch: claim.epoch,
    ttlMs: TTL_MS,
    maxBlockedMs: 3_600_000,
    onLost: () => {},
    onRenewed: () => {},
  })
  const kept = { store, lease }
  await renewedSince(kept, Number.NEGATIVE_INFINITY)
  return kept
}

/** Waits until a renewal was confirmed that was requested after this time. @throws if the heartbeat has failed. */
export async function renewedSince({ store, lease }: KeptLog, since = performance.now()): Promise<void> {
  while (lease.until - TTL_MS < since || lease.until === Number.NEGATIVE_INFINITY) {
    if (store.heartbeat?.failure) throw store.heartbeat.failure
    await pause(POLL_MS)
  }
}

/** Lets the heartbeat of the store renew a lease once. */
export async function keptUntilRenewed(store: LogStore): Promise<void> {
  const { lease } = await keptLease(store)
  lease.stop()
}
