// Schedules in which a server dies or freezes under the load of several writers and readers.

import type { Service } from '../../../../../scripts/services/server.ts'
import type { Random } from '../chaos/random.fixture.ts'
import type { FaultHarness } from './store-fault-harness.fixture.ts'
import type { Run } from './store-process-messages.fixture.ts'

/** How much later than documented a busy machine may write to its disk, in ms. */
const DISK_DELAY_MS = 5_000

/** Three logs by two processes, one of them with questions to a guest. All are read in another process and in the test process. */
async function startLoad(harness: FaultHarness, options: Parameters<FaultHarness['actor']>[0] = {}): Promise<Run[]> {
  const runs = ['a', 'b', 'c'].map(name => harness.run(name))
  const [one, two] = [await harness.actor(options), await harness.actor({ ...options, plan: { questionRate: 0.3 } })]
  const reading = [await harness.actor(options), undefined]
  for (const [i, run] of runs.entries()) {
    for (const actor of reading) await harness.startReader(run, actor)
    const writer = i === 0 ? one : two
    if (harness.testStore.maxLossMs > 0) harness.allow(writer, 'regressed')
    await writer.order({ do: 'write', run, takeover: false })
  }
  await startGuest(harness, runs, options)
  return runs
}

/** A guest that answers every open question. */
async function startGuest(
  harness: FaultHarness,
  runs: readonly Run[],
  options: Parameters<FaultHarness['actor']>[0] = {},
): Promise<void> {
  const guest = await harness.actor(options)
  for (const { streamId } of runs) await guest.order({ do: 'answer', guest: 'ann', streamId })
}

const serviceOf = (harness: FaultHarness): Service => {
  if (harness.testStore.service === undefined) throw new Error('a server is needed to kill it')
  return harness.testStore.service
}

/** Kills or stops the server and restarts it. The writers continue by themselves. */
export async function crash(harness: FaultHarness, random: Random): Promise<void> {
  const service = serviceOf(harness)
  const runs = await startLoad(harness)
  for (const run of runs) await harness.waitForAcks(run, 1)
  for (let crashes = random.between(1, 2); crashes > 0; crashes--) {
    const run = random.pick(runs)
    const n = random.between(1, 30)
    await harness.waitForAcks(run, n)
    const isKilled = random.chance(0.8)
    const from = Date.now() - harness.testStore.maxLossMs - DISK_DELAY_MS
    if (isKilled) {
      await service.kill()
      harness.killedServers++
      await harness.messagesReceived()
    }
    const to = Date.now()
    if (isKilled && harness.testStore.maxLossMs > 0)
      for (const one of runs) harness.record(one).lossy.push({ from, to })
    await service.restart()
    harness.note(`${isKilled ? 'killed' : 'restarted'} after ${n} appends`)
    // A guest with a lost answer may not know that the question is open again.
    if (isKilled && harness.testStore.maxLossMs > 0) await startGuest(harness, runs)
    for (const one of runs) await harness.waitForAcks(one, 3)
  }
}

/** Freezes the server, for a moment or for longer than any timeout. */
export async function frozen(harness: FaultHarness, random: Random): Promise<void> {
  const service = serviceOf(harness)
  const proxy = await harness.startProxy()
  const isLong = random.chance(0.6)
  const runs = await startLoad(harness, { spec: harness.via(proxy, { timeoutMs: isLong ? 500 : 5000 }) })
  for (const run of runs) await harness.waitForAcks(run, 1)
  for (let freezes = random.between(1, 2); freezes > 0; freezes--) {
    await harness.waitForAcks(random.pick(runs), random.between(1, 20))
    const { length } = harness.events
    await service.freeze()
    harness.note(`frozen, ${isLong ? 'until a call failed' : 'for a moment'}`)
    if (isLong) await harness.until('a call fails', () => harness.events.length > length)
    await service.thaw()
    for (const run of runs) await harness.waitForAcks(run, 3)
  }
}
