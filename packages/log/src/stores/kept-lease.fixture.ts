import { setTimeout as pause } from 'node:timers/promises'
import type { LogStore } from '../store/log-store.ts'

const POLL_MS = 10

/** Claims a new log, and waits until the heartbeat of the store has renewed its lease. @throws if the heartbeat has failed. */
export async function keptUntilRenewed(store: LogStore): Promise<void> {
  await store.create('kept', null)
  const claim = await store.claim('kept', 'me', 60_000, false)
  if (claim.outcome !== 'claimed') throw new Error(`claim: expected claimed, found ${claim.outcome}`)
  const kept = store.heartbeat?.keep({
    streamId: 'kept',
    epoch: claim.epoch,
    ttlMs: 300,
    maxBlockedMs: 3_600_000,
    onLost: () => {},
    onRenewed: () => {},
  })
  while (kept?.until === Number.NEGATIVE_INFINITY) {
    if (store.heartbeat?.failure) throw store.heartbeat.failure
    await pause(POLL_MS)
  }
  kept?.stop()
}
