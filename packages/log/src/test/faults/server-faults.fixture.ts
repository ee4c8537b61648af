// Schedules in which a server dies or freezes under the load of several writers and readers.

import type { Service } from '../../../../../scripts/services/server.ts'
import type { Random } from '../chaos/random.fixture.ts'
import type { FaultScene } from './store-fault-scene.fixture.ts'
import type { Run } from './store-process-messages.fixture.ts'

/** How much later than documented a busy machine may write to its disk, in ms. */
const DISK_DELAY_MS = 5_000

/** Three logs by two processes, one of them with questions to a guest. All are read in another process and in the test process. */
async function startLoad(scene: FaultScene, options: Parameters<FaultScene['actor']>[0] = {}): Promise<Run[]> {
  const runs = ['a', 'b', 'c'].map(name => scene.run(name))
  const [one, two] = [await scene.actor(options), await scene.actor({ ...options, plan: { questionRate: 0.3 } })]
  const reading = [await scene.actor(options), undefined]
  for (const [i, run] of runs.entries()) {
    for (const actor of reading) await scene.startReader(run, actor)
    const writer = i === 0 ? one : two
    if (scene.testStore.maxLossMs > 0) scene.allow(writer, 'regressed')
    await writer.order({ do: 'write', run, takeover: false })
  }
  await startGuest(scene, runs, options)
  return runs
}

/** A guest that answers every open question. */
async function startGuest(
  scene: FaultScene,
  runs: readonly Run[],
  options: Parameters<FaultScene['actor']>[0] = {},
): Promise<void> {
  const guest = await scene.actor(options)
  for (const { streamId } of runs) await guest.order({ do: 'answer', guest: 'ann', streamId })
}

const serviceOf = (scene: FaultScene): Service => {
  if (scene.testStore.service === undefined) throw new Error('a server is needed to kill it')
  return scene.testStore.service
}

/** Kills or stops the server and restarts it. The writers continue by themselves. */
export async function crash(scene: FaultScene, random: Random): Promise<void> {
  const service = serviceOf(scene)
  const runs = await startLoad(scene)
  for (const run of runs) await scene.waitForAcks(run, 1)
  for (let crashes = random.between(1, 2); crashes > 0; crashes--) {
    const run = random.pick(runs)
    const n = random.between(1, 30)
    await scene.waitForAcks(run, n)
    const isKilled = random.chance(0.8)
    const from = Date.now() - scene.testStore.maxLossMs - DISK_DELAY_MS
    if (isKilled) {
      await service.kill()
      scene.killedServers++
      await scene.messagesReceived()
    }
    const to = Date.now()
    if (isKilled && scene.testStore.maxLossMs > 0) for (const one of runs) scene.record(one).lossy.push({ from, to })
    await service.restart()
    scene.note(`${isKilled ? 'killed' : 'restarted'} after ${n} appends`)
    // A guest with a lost answer may not know that the question is open again.
    if (isKilled && scene.testStore.maxLossMs > 0) await startGuest(scene, runs)
    for (const one of runs) await scene.waitForAcks(one, 3)
  }
}

/** Freezes the server, for a moment or for longer than any timeout. */
export async function frozen(scene: FaultScene, random: Random): Promise<void> {
  const service = serviceOf(scene)
  const proxy = await scene.startProxy()
  const isLong = random.chance(0.6)
  const runs = await startLoad(scene, { spec: scene.via(proxy, { timeoutMs: isLong ? 500 : 5000 }) })
  for (const run of runs) await scene.waitForAcks(run, 1)
  for (let freezes = random.between(1, 2); freezes > 0; freezes--) {
    await scene.waitForAcks(random.pick(runs), random.between(1, 20))
    const { length } = scene.events
    await service.freeze()
    scene.note(`frozen, ${isLong ? 'until a call failed' : 'for a moment'}`)
    if (isLong) await scene.until('a call fails', () => scene.events.length > length)
    await service.thaw()
    for (const run of runs) await scene.waitForAcks(run, 3)
  }
}
