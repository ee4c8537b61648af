// Schedules in which processes die, or are suspended and wake up later.

import { LogError } from '../../store/log-error.ts'
import type { Random } from '../chaos/random.fixture.ts'
import { isLocked } from './file-faults.fixture.ts'
import type { FaultHarness } from './store-fault-harness.fixture.ts'
import type { Run } from './store-process-messages.fixture.ts'
import type { StoreProcess } from './store-process-pool.fixture.ts'

/** A short lease, in ms, for schedules that wait for its expiry. */
const SHORT_LEASE_MS = 400

/** Waits for a drawn moment of a writer: its claim, a batch in flight, or an acknowledged append. */
async function waitForMoment(harness: FaultHarness, random: Random, run: Run): Promise<string> {
  const { claims, sent } = harness.record(run)
  const kind = random.weighted([
    [1, 'claim'],
    [3, 'sent'],
    [6, 'acked'],
  ] as const)
  const n = kind === 'claim' ? 1 : random.between(1, 25)
  if (kind === 'acked') await harness.waitForAcks(run, n)
  else {
    const list = kind === 'claim' ? claims : sent
    const to = list.length + n
    await harness.until(`${kind} ${to} of ${run.streamId}`, () => list.length >= to)
  }
  return `${kind} ${n}`
}

/** Readers in the test process and in a separate process, throughout the schedule. */
async function startReaders(harness: FaultHarness, run: Run): Promise<void> {
  await harness.startReader(run)
  await harness.startReader(run, await harness.actor())
}

/** Kills writers one after another. Another process continues at once, or when the lease expires. */
export async function killedWriters(harness: FaultHarness, random: Random): Promise<void> {
  const run = harness.run()
  await startReaders(harness, run)
  let takeover = false
  for (let deaths = random.between(1, 3); deaths > 0; deaths--) {
    const writer = await harness.actor({
      leaseMs: SHORT_LEASE_MS,
      plan: { outputLength: random.pick([20, 20, 20_000]) },
    })
    const writing = writer.order({ do: 'write', run, takeover })
    const at = await waitForMoment(harness, random, run)
    await writing
    await writer.kill()
    takeover = random.chance(0.5)
    harness.note(`${writer.tag} killed at ${at}, ${takeover ? 'taken over from' : 'its lease expires'}`)
  }
  const last = await harness.actor()
  await last.order({ do: 'write', run, takeover })
  await harness.waitForAcks(run, random.between(1, 10))
}

/** A writer is suspended during a takeover: nothing that it appends later is accepted. */
export async function suspendedWriter(harness: FaultHarness, random: Random): Promise<void> {
  const run = harness.run()
  await startReaders(harness, run)
  const record = harness.record(run)
  let writer = await harness.actor()
  await writer.order({ do: 'write', run, takeover: false })
  for (let suspensions = random.between(1, 2); suspensions > 0; suspensions--) {
    await harness.waitForAcks(run, random.between(1, 20))
    await writer.freeze()
    await refreezeWithoutLock(harness, run, writer)
    const suspended = writer
    harness.allow(suspended, 'fenced')
    writer = await harness.actor()
    const { length } = record.claims
    await writer.order({ do: 'write', run, takeover: true })
    await harness.until('the takeover', () => record.claims.length > length)
    await harness.waitForAcks(run, random.between(1, 20))
    suspended.thaw()
    harness.note(`${suspended.tag} was suspended, ${writer.tag} took over`)
    await harness.until('the suspended writer is fenced', () => record.losses.some(({ by }) => by === suspended.tag))
    await expectFencedCalls(harness, run, suspended)
  }
}

/** Suspends a process again until it does not hold the file lock: with the lock it would block all others. */
async function refreezeWithoutLock(harness: FaultHarness, run: Run, writer: StoreProcess): Promise<void> {
  const { spec } = harness.testStore
  while (spec.kind === 'sqlite' && isLocked(spec.path)) {
    writer.thaw()
    await harness.waitForAcks(run, 1)
    await writer.freeze()
  }
}

/** All other calls under a fenced epoch are rejected too. */
async function expectFencedCalls(harness: FaultHarness, run: Run, fenced: StoreProcess): Promise<void> {
  const { epoch = '' } = harness.record(run).claims.find(({ by }) => by === fenced.tag) ?? {}
  const { store } = await harness.localStore()
  const { streamId } = run
  const page = await store.read(streamId, { sequence: 0 }, { batches: 0, bytes: 0 })
  const lastAcked = { sequence: page?.head ?? 0, incarnation: page?.incarnation ?? '', epoch: page?.mark ?? '' }
  for (const counter of [1, 1000]) {
    const { outcome } = await store.append(streamId, { body: '["stray"]', count: 1 }, { epoch, counter, lastAcked })
    if (outcome !== 'fenced') throw new Error(`law 4: append ${counter} under the fenced epoch ${epoch} is ${outcome}`)
  }
}

/** Drivers find due logs. Others replace the dead ones, also when all are dead. */
export async function dyingDrivers(harness: FaultHarness, random: Random): Promise<void> {
  const runs = Array.from({ length: random.between(2, 3) }, (_, i) => harness.run(`${i}`))
  const { program } = runs[0] as Run
  const { manager } = await harness.localStore()
  const plan = { questionRate: 0.3, releasesWhileWaiting: random.chance(0.5) }
  const startProcess = async () => {
    const driver = await harness.actor({ leaseMs: SHORT_LEASE_MS, plan })
    // Drivers compete: a slow one finds the log claimed, or its run ended.
    harness.allow(driver, 'fenced', 'refused')
    await driver.order({ do: 'drive', program })
    return driver
  }
  const drivers = [await startProcess(), await startProcess()]
  const guest = await harness.actor()
  for (const run of runs) {
    await startReaders(harness, run)
    await manager.createStream(run.streamId)
    await manager.append(run.streamId, 'boss', { type: 'run-requested', runId: run.runId, program })
    await guest.order({ do: 'answer', guest: 'ann', streamId: run.streamId })
  }
  for (let deaths = random.between(2, 3); deaths > 0; deaths--) {
    await harness.waitForAcks(random.pick(runs), random.between(1, 20))
    const dying = drivers.splice(0, random.between(1, drivers.length))
    for (const driver of dying) await driver.kill()
    harness.note(
      `${dying.map(({ tag }) => tag)} killed, ${drivers.length} remain; they release the log while they wait: ${plan.releasesWhileWaiting}`,
    )
    for (const _ of dying) drivers.push(await startProcess())
  }
  for (const run of runs) await harness.waitForAcks(run, 3)
}

/** Guests in separate processes answer while writers and guests die. Each question has one answer. */
export async function dyingGuests(harness: FaultHarness, random: Random): Promise<void> {
  const run = harness.run()
  await startReaders(harness, run)
  const record = harness.record(run)
  const startProcess = async (guest: string) => {
    const actor = await harness.actor()
    await actor.order({ do: 'answer', guest, streamId: run.streamId })
    return actor
  }
  let writer = await harness.actor({ plan: { questionRate: 0.6 } })
  await writer.order({ do: 'write', run, takeover: false })
  const processes = [await startProcess('ann'), await startProcess('bob')]
  for (let deaths = random.between(2, 4); deaths > 0; deaths--) {
    const to = record.answers.length + random.between(1, 8)
    await harness.until(`answer ${to}`, () => record.answers.length >= to)
    if (random.chance(0.6)) {
      await writer.kill()
      harness.note(`${writer.tag} killed at answer ${to}`)
      writer = await harness.actor({ plan: { questionRate: 0.6 } })
      await writer.order({ do: 'write', run, takeover: true })
    } else {
      const guest = processes.shift() as StoreProcess
      await guest.kill()
      harness.note(`${guest.tag} killed at answer ${to}`)
      // With the same name it answers again, and gets a duplicate.
      processes.push(await startProcess(random.pick(['ann', 'bob'])))
    }
  }
  await harness.waitForAcks(run, 5)
  if (random.chance(0.4)) {
    harness.note('stopped by a guest')
    await stop(harness, run)
  }
}

/** Stops the run as a guest. It ends by itself. */
async function stop(harness: FaultHarness, { streamId, runId }: Run): Promise<void> {
  const { manager } = await harness.localStore()
  const done = await manager.append(streamId, 'boss', { type: 'stop-requested', runId })
  if (done.outcome === 'refused') throw new LogError('refused', `the stop of ${runId}: ${done.reason}`)
  const { ends } = harness.record({ streamId })
  await harness.until('the run was stopped', () => ends.length > 0)
  if (ends[0]?.status !== 'interrupted') throw new Error(`law 5: ${runId} was stopped, and ended as ${ends[0]?.status}`)
}

/** Readers die repeatedly and resume from their last cursor, in other processes and in the test process. */
export async function dyingReaders(harness: FaultHarness, random: Random): Promise<void> {
  const run = harness.run()
  const processes = [await harness.actor(), await harness.actor()]
  const all = [
    await harness.startReader(run),
    await harness.startReader(run, processes[0]),
    await harness.startReader(run, processes[1]),
  ]
  const writer = await harness.actor()
  await writer.order({ do: 'write', run, takeover: false })
  for (let deaths = random.between(3, 5); deaths > 0; deaths--) {
    await harness.waitForAcks(run, random.between(1, 15))
    const i = random.below(processes.length)
    const dying = processes[i] as StoreProcess
    await dying.kill()
    processes[i] = await harness.actor()
    for (const reader of all) {
      if (reader.actor !== dying) continue
      const to = random.chance(0.3) ? undefined : random.pick(processes)
      harness.note(`${reader.name} died at ${reader.current.sequence}, continues in ${to?.tag ?? 'this process'}`)
      await harness.resume(reader, to)
    }
  }
  await harness.waitForAcks(run, 5)
}
