import type { Heartbeat, HeldLease, KeptLease, LogStore } from '../store/log-store.ts'
import { assertEqual, assertTrue } from './assert.ts'
import { type ContractCase, define } from './contract-case.ts'
import { LONG_MS, SHORT_MS, type Trial } from './trial.ts'
import type { ContractWriter } from './writer.ts'

/** A lease that a case lets a heartbeat renew, in ms. */
const BEAT_MS = 60
/** A time of the store in whole ms and one of this process may differ by this, in ms. */
const ROUNDING_MS = 2

/** Leases that are renewed while the event loop is blocked. A store without a heartbeat passes, and its leases expire. */
export const heartbeats: readonly ContractCase[] = [
  define('interface', 'a heartbeat renews a lease without calls of renew; without one it expires', async trial => {
    const store = await trial.open()
    const kept = await keep(trial, store, 'log')
    if (kept === undefined) {
      const streamId = await trial.log(store)
      const { until } = await trial.writer(store, streamId, SHORT_MS)
      await trial.reach(store, streamId, until)
      assertEqual((await trial.head(store, streamId)).lease?.until, until, 'the lease of a store without a heartbeat')
      return
    }
    await kept.beats(3)
    assertEqual(kept.heartbeat.failure, undefined, 'the failure of a heartbeat that renews')
    await trial.until('the heartbeat confirms a renewal', async () => kept.lease.until > Number.NEGATIVE_INFINITY)
  }),

  define('interface', 'a heartbeat confirms a renewal no longer than the lease lasts', async trial => {
    const kept = await keep(trial, await trial.open(), 'log')
    if (kept === undefined) return
    for (let n = 0; n < 3; n++) {
      await kept.beats(1)
      const confirmed = kept.lease.until
      const { lease, clock } = await trial.head(kept.store, kept.streamId)
      const end = performance.now() + (lease?.until ?? 0) - clock
      assertTrue(confirmed <= end + ROUNDING_MS, 'the confirmed end is not after the end of the lease', [
        confirmed,
        end,
      ])
    }
  }),

  define('interface', 'a heartbeat renews nothing after a stop', async trial => {
    const store = await trial.open()
    const kept = await keep(trial, store, 'log')
    const other = await keep(trial, store, 'other')
    if (kept === undefined || other === undefined) return
    await kept.beats(1)
    kept.lease.stop()
    // A renewal that was in flight.
    await other.beats(2)
    const { until } = await kept.state()
    await other.beats(2)
    assertEqual((await kept.state()).until, until, 'the lease that was stopped')
  }),

  define('interface', 'a heartbeat reports a released lease as lost, and does not renew it', async trial => {
    const store = await trial.open()
    const kept = await keep(trial, store, 'log')
    const other = await keep(trial, store, 'other')
    if (kept === undefined || other === undefined) return
    await kept.beats(1)
    await store.release(kept.streamId, kept.writer.epoch)
    await trial.until('the heartbeat reports the lease as lost', async () => kept.calls.lost === 1)
    await other.beats(2)
    assertEqual((await trial.head(store, kept.streamId)).lease, null, 'the lease that was released')
    assertEqual([kept.calls.lost, other.calls.lost], [1, 0], 'how often the leases were reported as lost')
  }),

  define('interface', 'a heartbeat reports a lease of another epoch as lost, and does not renew it', async trial => {
    const [store, next] = (await trial.opened(2)) as [LogStore, LogStore]
    const kept = await keep(trial, store, 'log')
    const other = await keep(trial, store, 'other')
    if (kept === undefined || other === undefined) return
    await kept.beats(1)
    const { until } = await trial.writer(next, kept.streamId, LONG_MS, true)
    await trial.until('the heartbeat reports the lease as lost', async () => kept.calls.lost === 1)
    await other.beats(2)
    assertEqual((await kept.state()).until, until, 'the lease of the next epoch')
  }),

  define(
    'interface',
    'a heartbeat lets a lease expire while the event loop is blocked, and renews it afterwards',
    async trial => {
      const store = await trial.open()
      const kept = await keep(trial, store, 'log', { maxBlockedMs: 2 * BEAT_MS })
      const other = await keep(trial, store, 'other')
      if (kept === undefined || other === undefined) return
      // The event loop is blocked as long as it reports no progress.
      await trial.until('the heartbeat no longer renews the lease of a blocked event loop', async () => {
        const { until } = await kept.state()
        await other.beats(2)
        return (await kept.state()).until === until
      })
      await trial.until('the lease of a blocked event loop expires', async () => {
        const { until, clock } = await kept.state()
        return until <= clock
      })
      const { renewed } = kept.calls
      const { until } = await kept.state()
      await trial.until('the heartbeat renews the lease and reports it', async () => {
        kept.lease.progress()
        return (await kept.state()).until > until && kept.calls.renewed > renewed
      })
    },
  ),

  define('interface', 'a heartbeat ends with its handle', async trial => {
    const [store, next] = (await trial.opened(2)) as [LogStore, LogStore]
    const kept = await keep(trial, store, 'log')
    const other = await keep(trial, next, 'other')
    if (kept === undefined || other === undefined) return
    await kept.beats(1)
    await trial.close(store)
    assertTrue(kept.heartbeat.failure !== undefined, 'the heartbeat of a closed handle has failed')
    const before = await trial.head(next, kept.streamId)
    await other.beats(2)
    assertEqual((await trial.head(next, kept.streamId)).lease, before.lease, 'a lease of a closed handle')
  }),
]

/** A log whose lease a heartbeat renews. */
interface KeptLog {
  readonly store: LogStore
  readonly heartbeat: Heartbeat
  readonly streamId: string
  readonly writer: ContractWriter
  readonly lease: KeptLease
  /** How often the heartbeat has called back. */
  readonly calls: { lost: number; renewed: number }
  state(): Promise<{ until: number; clock: number }>
  /** Waits until the lease was renewed this many times. */
  beats(count: number): Promise<void>
}

/** Claims a new log and lets the heartbeat renew its lease. Undefined for a store without a heartbeat. */
async function keep(
  trial: Trial,
  store: LogStore,
  label: string,
  options: Partial<HeldLease> = {},
): Promise<KeptLog | undefined> {
  const { heartbeat } = store
  if (heartbeat === undefined) return undefined
  await heartbeat.ready()
  const streamId = await trial.log(store, label)
  const writer = await trial.writer(store, streamId, BEAT_MS)
  const calls = { lost: 0, renewed: 0 }
  const lease = heartbeat.keep({
    streamId,
    epoch: writer.epoch,
    ttlMs: BEAT_MS,
    maxBlockedMs: LONG_MS,
    onLost: () => calls.lost++,
    onRenewed: () => calls.renewed++,
    ...options,
  })
  const state = async () => {
    const { lease: found, clock } = await trial.head(store, streamId)
    return { until: found?.until ?? 0, clock }
  }
  const beats = async (count: number) => {
    for (let n = 0; n < count; n++) {
      const { until } = await state()
      await trial.until('the heartbeat renews the lease', async () => (await state()).until > until)
    }
  }
  return { store, heartbeat, streamId, writer, lease, calls, state, beats }
}
