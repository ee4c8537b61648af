// Schedules in which processes die, or sleep and wake up in another time.

import type { Random } from '../chaos/random.fixture.ts'
import { LogError } from '../error.ts'
import type { Actor } from './actor.fixture.ts'
import { isLocked } from './files.fixture.ts'
import type { Stage } from './stage.fixture.ts'
import type { Run } from './told.fixture.ts'

/** A lease that is soon over, for those who wait for it. */
const SHORT_LEASE_MS = 400

/** Waits for a moment in the life of a writer, drawn: its claim, a batch on its way, an acknowledged append. */
async function moment(stage: Stage, random: Random, run: Run): Promise<string> {
  const { claims, sent } = stage.record(run)
  const kind = random.weighted([
    [1, 'claim'],
    [3, 'sent'],
    [6, 'acked'],
  ] as const)
  const n = kind === 'claim' ? 1 : random.between(1, 25)
  if (kind === 'acked') await stage.acked(run, n)
  else {
    const list = kind === 'claim' ? claims : sent
    const to = list.length + n
    await stage.until(`${kind} ${to} of ${run.streamId}`, () => list.length >= to)
  }
  return `${kind} ${n}`
}

/** Readers here and in a process of their own, all the time. */
async function audience(stage: Stage, run: Run): Promise<void> {
  await stage.read(run)
  await stage.read(run, await stage.actor())
}

/** Writers are killed, one after another; each time another process goes on, at once or when the lease is over. */
export async function killed(stage: Stage, random: Random): Promise<void> {
  const run = stage.run()
  await audience(stage, run)
  let takeover = false
  for (let deaths = random.between(1, 3); deaths > 0; deaths--) {
    const writer = await stage.actor({ leaseMs: SHORT_LEASE_MS, plan: { bulk: random.pick([20, 20, 20_000]) } })
    const writing = writer.order({ do: 'write', run, takeover })
    const at = await moment(stage, random, run)
    await writing
    await writer.kill()
    takeover = random.chance(0.5)
    stage.note(`${writer.tag} killed at ${at}, ${takeover ? 'taken over from' : 'its lease runs out'}`)
  }
  const last = await stage.actor()
  await last.order({ do: 'write', run, takeover })
  await stage.acked(run, random.between(1, 10))
}

/** A writer sleeps through a takeover: nothing that it says afterwards is heard. */
export async function zombie(stage: Stage, random: Random): Promise<void> {
  const run = stage.run()
  await audience(stage, run)
  const record = stage.record(run)
  let writer = await stage.actor()
  await writer.order({ do: 'write', run, takeover: false })
  for (let sleeps = random.between(1, 2); sleeps > 0; sleeps--) {
    await stage.acked(run, random.between(1, 20))
    await writer.freeze()
    await awake(stage, run, writer)
    const zombie = writer
    stage.allow(zombie, 'fenced')
    writer = await stage.actor()
    const { length } = record.claims
    await writer.order({ do: 'write', run, takeover: true })
    await stage.until('the takeover', () => record.claims.length > length)
    await stage.acked(run, random.between(1, 20))
    zombie.thaw()
    stage.note(`${zombie.tag} slept, ${writer.tag} took over`)
    await stage.until('the zombie is fenced', () => record.losses.some(({ by }) => by === zombie.tag))
    await whisper(stage, run, zombie)
  }
}

/** Who sleeps with the file in its hands keeps everybody out; it is put to sleep again at a better moment. */
async function awake(stage: Stage, run: Run, writer: Actor): Promise<void> {
  const { spec } = stage.ground
  while (spec.kind === 'sqlite' && isLocked(spec.path)) {
    writer.thaw()
    await stage.acked(run, 1)
    await writer.freeze()
  }
}

/** Whatever else is said under a fenced epoch is refused, too. */
async function whisper(stage: Stage, run: Run, zombie: Actor): Promise<void> {
  const { epoch = '' } = stage.record(run).claims.find(({ by }) => by === zombie.tag) ?? {}
  const { store } = await stage.here()
  const { streamId } = run
  const page = await store.read(streamId, { sequence: 0 }, { batches: 0, bytes: 0 })
  const lastAcked = { sequence: page?.head ?? 0, incarnation: page?.incarnation ?? '', epoch: page?.mark ?? '' }
  for (const counter of [1, 1000]) {
    const { outcome } = await store.append(streamId, { body: '["stray"]', count: 1 }, { epoch, counter, lastAcked })
    if (outcome !== 'fenced') throw new Error(`law 4: append ${counter} under the fenced epoch ${epoch} is ${outcome}`)
  }
}

/** Drivers find what is due; whoever dies is followed by others, also when nobody is left. */
export async function due(stage: Stage, random: Random): Promise<void> {
  const runs = Array.from({ length: random.between(2, 3) }, (_, i) => stage.run(`${i}`))
  const { program } = runs[0] as Run
  const { manager } = await stage.here()
  const plan = { asks: 0.3, leaves: random.chance(0.5) }
  const hire = async () => {
    const driver = await stage.actor({ leaseMs: SHORT_LEASE_MS, plan })
    // They compete: who is too slow finds the log taken, or its run at its end.
    stage.allow(driver, 'fenced', 'refused')
    await driver.order({ do: 'drive', program })
    return driver
  }
  const drivers = [await hire(), await hire()]
  const guest = await stage.actor()
  for (const run of runs) {
    await audience(stage, run)
    await manager.createStream(run.streamId)
    await manager.append(run.streamId, 'boss', { type: 'run-requested', runId: run.runId, program })
    await guest.order({ do: 'answer', guest: 'ann', streamId: run.streamId })
  }
  for (let deaths = random.between(2, 3); deaths > 0; deaths--) {
    await stage.acked(random.pick(runs), random.between(1, 20))
    const dying = drivers.splice(0, random.between(1, drivers.length))
    for (const driver of dying) await driver.kill()
    stage.note(`${dying.map(({ tag }) => tag)} killed, ${drivers.length} left; leaves ${plan.leaves}`)
    for (const _ of dying) drivers.push(await hire())
  }
  for (const run of runs) await stage.acked(run, 3)
}

/** Guests answer from processes of their own while writers die, and guests too; each question has one answer. */
export async function guests(stage: Stage, random: Random): Promise<void> {
  const run = stage.run()
  await audience(stage, run)
  const record = stage.record(run)
  const hire = async (guest: string) => {
    const actor = await stage.actor()
    await actor.order({ do: 'answer', guest, streamId: run.streamId })
    return actor
  }
  let writer = await stage.actor({ plan: { asks: 0.6 } })
  await writer.order({ do: 'write', run, takeover: false })
  const asked = [await hire('ann'), await hire('bob')]
  for (let deaths = random.between(2, 4); deaths > 0; deaths--) {
    const to = record.answers.length + random.between(1, 8)
    await stage.until(`answer ${to}`, () => record.answers.length >= to)
    if (random.chance(0.6)) {
      await writer.kill()
      stage.note(`${writer.tag} killed at answer ${to}`)
      writer = await stage.actor({ plan: { asks: 0.6 } })
      await writer.order({ do: 'write', run, takeover: true })
    } else {
      const guest = asked.shift() as Actor
      await guest.kill()
      stage.note(`${guest.tag} killed at answer ${to}`)
      // Under the same name: it answers again what its name has answered already, and is told so.
      asked.push(await hire(random.pick(['ann', 'bob'])))
    }
  }
  await stage.acked(run, 5)
  if (random.chance(0.4)) {
    stage.note('stopped by a guest')
    await stop(stage, run)
  }
}

/** Asks the run to stop, as a guest: it ends by itself. */
async function stop(stage: Stage, { streamId, runId }: Run): Promise<void> {
  const { manager } = await stage.here()
  const done = await manager.append(streamId, 'boss', { type: 'stop-requested', runId })
  if (done.outcome === 'refused') throw new LogError('refused', `the stop of ${runId}: ${done.reason}`)
  const { ends } = stage.record({ streamId })
  await stage.until('the run was stopped', () => ends.length > 0)
  if (ends[0]?.status !== 'interrupted') throw new Error(`law 5: ${runId} was stopped, and ended as ${ends[0]?.status}`)
}

/** Readers die again and again and go on from their last cursor, in other processes and here. */
export async function readers(stage: Stage, random: Random): Promise<void> {
  const run = stage.run()
  const own = [await stage.actor(), await stage.actor()]
  const all = [await stage.read(run), await stage.read(run, own[0]), await stage.read(run, own[1])]
  const writer = await stage.actor()
  await writer.order({ do: 'write', run, takeover: false })
  for (let deaths = random.between(3, 5); deaths > 0; deaths--) {
    await stage.acked(run, random.between(1, 15))
    const i = random.below(own.length)
    const dying = own[i] as Actor
    await dying.kill()
    own[i] = await stage.actor()
    for (const reader of all) {
      if (reader.actor !== dying) continue
      const to = random.chance(0.3) ? undefined : random.pick(own)
      stage.note(`${reader.name} died at ${reader.now.sequence}, goes on in ${to?.tag ?? 'this process'}`)
      await stage.resume(reader, to)
    }
  }
  await stage.acked(run, 5)
}
