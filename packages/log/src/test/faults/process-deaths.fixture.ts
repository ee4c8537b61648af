// Schedules in which processes die, or are suspended and wake up later.

import { LogError } from '../../store/log-error.ts'
import type { Random } from '../chaos/random.fixture.ts'
import { isLocked } from './file-faults.fixture.ts'
import type { FaultScene } from './store-fault-scene.fixture.ts'
import type { Run } from './store-process-messages.fixture.ts'
import type { StoreProcess } from './store-process-pool.fixture.ts'

/** A short lease, in ms, for schedules that wait for its expiry. */
const SHORT_LEASE_MS = 400

/** Waits for a drawn moment of a writer: its claim, a batch in flight, or an acknowledged append. */
async function waitForMoment(scene: FaultScene, random: Random, run: Run): Promise<string> {
  const { claims, sent } = scene.record(run)
  const kind = random.weighted([
    [1, 'claim'],
    [3, 'sent'],
    [6, 'acked'],
  ] as const)
  const n = kind === 'claim' ? 1 : random.between(1, 25)
  if (kind === 'acked') await scene.waitForAcks(run, n)
  else {
    const list = kind === 'claim' ? claims : sent
    const to = list.length + n
    await scene.until(`${kind} ${to} of ${run.streamId}`, () => list.length >= to)
  }
  return `${kind} ${n}`
}

/** Readers in the test process and in a separate process, throughout the schedule. */
async function startReaders(scene: FaultScene, run: Run): Promise<void> {
  await scene.startReader(run)
  await scene.startReader(run, await scene.actor())
}

/** Kills writers one after another. Another process continues at once, or when the lease expires. */
export async function killedWriters(scene: FaultScene, random: Random): Promise<void> {
  const run = scene.run()
  await startReaders(scene, run)
  let takeover = false
  for (let deaths = random.between(1, 3); deaths > 0; deaths--) {
    const writer = await scene.actor({ leaseMs: SHORT_LEASE_MS, plan: { outputLength: random.pick([20, 20, 20_000]) } })
    const writing = writer.order({ do: 'write', run, takeover })
    const at = await waitForMoment(scene, random, run)
    await writing
    await writer.kill()
    takeover = random.chance(0.5)
    scene.note(`${writer.tag} killed at ${at}, ${takeover ? 'taken over from' : 'its lease expires'}`)
  }
  const last = await scene.actor()
  await last.order({ do: 'write', run, takeover })
  await scene.waitForAcks(run, random.between(1, 10))
}

/** A writer is suspended during a takeover: nothing that it appends later is accepted. */
export async function suspendedWriter(scene: FaultScene, random: Random): Promise<void> {
  const run = scene.run()
  await startReaders(scene, run)
  const record = scene.record(run)
  let writer = await scene.actor()
  await writer.order({ do: 'write', run, takeover: false })
  for (let suspensions = random.between(1, 2); suspensions > 0; suspensions--) {
    await scene.waitForAcks(run, random.between(1, 20))
    await writer.freeze()
    await refreezeWithoutLock(scene, run, writer)
    const suspended = writer
    scene.allow(suspended, 'fenced')
    writer = await scene.actor()
    const { length } = record.claims
    await writer.order({ do: 'write', run, takeover: true })
    await scene.until('the takeover', () => record.claims.length > length)
    await scene.waitForAcks(run, random.between(1, 20))
    suspended.thaw()
    scene.note(`${suspended.tag} was suspended, ${writer.tag} took over`)
    await scene.until('the suspended writer is fenced', () => record.losses.some(({ by }) => by === suspended.tag))
    await expectFencedCalls(scene, run, suspended)
  }
}

/** Suspends a process again until it does not hold the file lock: with the lock it would block all others. */
async function refreezeWithoutLock(scene: FaultScene, run: Run, writer: StoreProcess): Promise<void> {
  const { spec } = scene.testStore
  while (spec.kind === 'sqlite' && isLocked(spec.path)) {
    writer.thaw()
    await scene.waitForAcks(run, 1)
    await writer.freeze()
  }
}

/** All other calls under a fenced epoch are rejected too. */
async function expectFencedCalls(scene: FaultScene, run: Run, fenced: StoreProcess): Promise<void> {
  const { epoch = '' } = scene.record(run).claims.find(({ by }) => by === fenced.tag) ?? {}
  const { store } = await scene.localStore()
  const { streamId } = run
  const page = await store.read(streamId, { sequence: 0 }, { batches: 0, bytes: 0 })
  const lastAcked = { sequence: page?.head ?? 0, incarnation: page?.incarnation ?? '', epoch: page?.mark ?? '' }
  for (const counter of [1, 1000]) {
    const { outcome } = await store.append(streamId, { body: '["stray"]', count: 1 }, { epoch, counter, lastAcked })
    if (outcome !== 'fenced') throw new Error(`law 4: append ${counter} under the fenced epoch ${epoch} is ${outcome}`)
  }
}

/** Drivers find due logs. Others replace the dead ones, also when all are dead. */
export async function dyingDrivers(scene: FaultScene, random: Random): Promise<void> {
  const runs = Array.from({ length: random.between(2, 3) }, (_, i) => scene.run(`${i}`))
  const { program } = runs[0] as Run
  const { manager } = await scene.localStore()
  const plan = { questionRate: 0.3, releasesWhileWaiting: random.chance(0.5) }
  const startProcess = async () => {
    const driver = await scene.actor({ leaseMs: SHORT_LEASE_MS, plan })
    // Drivers compete: a slow one finds the log claimed, or its run ended.
    scene.allow(driver, 'fenced', 'refused')
    await driver.order({ do: 'drive', program })
    return driver
  }
  const drivers = [await startProcess(), await startProcess()]
  const guest = await scene.actor()
  for (const run of runs) {
    await startReaders(scene, run)
    await manager.createStream(run.streamId)
    await manager.append(run.streamId, 'boss', { type: 'run-requested', runId: run.runId, program })
    await guest.order({ do: 'answer', guest: 'ann', streamId: run.streamId })
  }
  for (let deaths = random.between(2, 3); deaths > 0; deaths--) {
    await scene.waitForAcks(random.pick(runs), random.between(1, 20))
    const dying = drivers.splice(0, random.between(1, drivers.length))
    for (const driver of dying) await driver.kill()
    scene.note(
      `${dying.map(({ tag }) => tag)} killed, ${drivers.length} remain; they release the log while they wait: ${plan.releasesWhileWaiting}`,
    )
    for (const _ of dying) drivers.push(await startProcess())
  }
  for (const run of runs) await scene.waitForAcks(run, 3)
}

/** Guests in separate processes answer while writers and guests die. Each question has one answer. */
export async function dyingGuests(scene: FaultScene, random: Random): Promise<void> {
  const run = scene.run()
  await startReaders(scene, run)
  const record = scene.record(run)
  const startProcess = async (guest: string) => {
    const actor = await scene.actor()
    await actor.order({ do: 'answer', guest, streamId: run.streamId })
    return actor
  }
  let writer = await scene.actor({ plan: { questionRate: 0.6 } })
  await writer.order({ do: 'write', run, takeover: false })
  const processes = [await startProcess('ann'), await startProcess('bob')]
  for (let deaths = random.between(2, 4); deaths > 0; deaths--) {
    const to = record.answers.length + random.between(1, 8)
    await scene.until(`answer ${to}`, () => record.answers.length >= to)
    if (random.chance(0.6)) {
      await writer.kill()
      scene.note(`${writer.tag} killed at answer ${to}`)
      writer = await scene.actor({ plan: { questionRate: 0.6 } })
      await writer.order({ do: 'write', run, takeover: true })
    } else {
      const guest = processes.shift() as StoreProcess
      await guest.kill()
      scene.note(`${guest.tag} killed at answer ${to}`)
      // With the same name it answers again, and gets a duplicate.
      processes.push(await startProcess(random.pick(['ann', 'bob'])))
    }
  }
  await scene.waitForAcks(run, 5)
  if (random.chance(0.4)) {
    scene.note('stopped by a guest')
    await stop(scene, run)
  }
}

/** Stops the run as a guest. It ends by itself. */
async function stop(scene: FaultScene, { streamId, runId }: Run): Promise<void> {
  const { manager } = await scene.localStore()
  const done = await manager.append(streamId, 'boss', { type: 'stop-requested', runId })
  if (done.outcome === 'refused') throw new LogError('refused', `the stop of ${runId}: ${done.reason}`)
  const { ends } = scene.record({ streamId })
  await scene.until('the run was stopped', () => ends.length > 0)
  if (ends[0]?.status !== 'interrupted') throw new Error(`law 5: ${runId} was stopped, and ended as ${ends[0]?.status}`)
}

/** Readers die repeatedly and resume from their last cursor, in other processes and in the test process. */
export async function dyingReaders(scene: FaultScene, random: Random): Promise<void> {
  const run = scene.run()
  const processes = [await scene.actor(), await scene.actor()]
  const all = [
    await scene.startReader(run),
    await scene.startReader(run, processes[0]),
    await scene.startReader(run, processes[1]),
  ]
  const writer = await scene.actor()
  await writer.order({ do: 'write', run, takeover: false })
  for (let deaths = random.between(3, 5); deaths > 0; deaths--) {
    await scene.waitForAcks(run, random.between(1, 15))
    const i = random.below(processes.length)
    const dying = processes[i] as StoreProcess
    await dying.kill()
    processes[i] = await scene.actor()
    for (const reader of all) {
      if (reader.actor !== dying) continue
      const to = random.chance(0.3) ? undefined : random.pick(processes)
      scene.note(`${reader.name} died at ${reader.current.sequence}, continues in ${to?.tag ?? 'this process'}`)
      await scene.resume(reader, to)
    }
  }
  await scene.waitForAcks(run, 5)
}
