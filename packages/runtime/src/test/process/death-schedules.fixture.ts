// Schedules with crashed, sleeping and disconnected processes. The session must show the same as without faults.

import { setTimeout as pause } from 'node:timers/promises'
import type { FaultProxy } from '../../../../../scripts/faults/proxy.ts'
import { SESSION } from '../crash/tools-program.fixture.ts'
import { type Moment, POINTS, type Point, type StoreSpec } from './process-messages.fixture.ts'
import type { ScheduledProcess } from './process-pool.fixture.ts'
import { BLOCKED_AFTER_MS, type ProcessStage, type StageStore } from './process-stage.fixture.ts'

/** Time between tokens, so that there are more moments without a store call in flight. */
const PACE_MS = 2
/** Maximum delay of a random moment after a point, in ms. */
const SOON_MS = 20
/** How long a store may take to answer a disconnected process, in ms. */
const CUT_OFF_MS = 300

const when = ({ random }: ProcessStage): Moment['when'] => random.pick(['before', 'after'])

/** Kills a process at a point, and starts another. */
export async function diesAt(stage: ProcessStage, moment: Omit<Moment, 'does' | 'of'>): Promise<Point | undefined> {
  const dying = await stage.worker({ moment: { ...moment, of: POINTS, does: 'halt' } })
  const reached = await stage.reached(dying)
  stage.notes.push(
    `${dying.tag} died ${moment.when} point ${moment.n}, ${reached?.point ?? 'which it did not come to'}`,
  )
  if (reached) await dying.kill()
  await stage.worker()
  await stage.over()
  return reached?.point
}

/** Kills processes just before and after their store calls. */
export async function deathsAtPoints(stage: ProcessStage): Promise<void> {
  const { random, usual } = stage
  for (let deaths = random.between(1, 3), maxPoint = usual.points; deaths > 0; deaths--, maxPoint = usual.points >> 1) {
    const moment: Moment = { of: POINTS, n: random.between(1, maxPoint), when: when(stage), does: 'halt' }
    const dying = await stage.worker({ moment })
    const reached = await stage.reached(dying)
    stage.notes.push(`${dying.tag} died ${moment.when} point ${moment.n}, ${reached?.point ?? 'too late'}`)
    if (reached) await dying.kill()
  }
  await stage.worker()
  await stage.over()
}

/** Kills processes at random moments. */
export async function deathsAtRandomTimes(stage: ProcessStage): Promise<void> {
  const { random, usual } = stage
  for (let deaths = random.between(1, 3), maxPoint = usual.points; deaths > 0; deaths--, maxPoint = usual.points >> 1) {
    const n = random.between(1, maxPoint)
    const paceMs = random.pick([0, PACE_MS])
    const dying = await stage.worker({ paceMs, moment: { of: POINTS, n, when: when(stage), does: 'go on' } })
    await stage.reached(dying)
    const after = random.below(SOON_MS * 10) / 10
    stage.notes.push(`${dying.tag} died ${after.toFixed(1)} ms after point ${n}`)
    await pause(after)
    await dying.kill()
  }
  await stage.worker()
  await stage.over()
}

/** Two drivers compete. The active one sleeps beyond its lease and wakes after the other has continued. */
export async function competingDrivers(stage: ProcessStage): Promise<void> {
  const { random, usual } = stage
  const moment = { of: ['append'], n: random.between(1, usual.appends), when: when(stage), does: 'sleep' } as const
  const both = [await stage.worker({ moment }), await stage.worker({ moment })]
  const asleep = new Set<ScheduledProcess>()
  for (const actor of both) {
    actor.reached.then(() => {
      asleep.add(actor)
      stage.look()
    })
  }
  for (const _ of both) {
    await stage.until('one of them sleeps', () => stage.isOver || asleep.size > 0)
    const [sleeper] = asleep
    if (sleeper === undefined) break
    await sleepThrough(stage, () => asleep.size === both.length)
    asleep.delete(sleeper)
    await sleeper.wake()
  }
  await stage.over()
}

/** Waits until another process has continued a sleeping one's run, or none is left that could. */
async function sleepThrough(stage: ProcessStage, isNobodyLeft: () => boolean): Promise<void> {
  const { length } = stage.seen
  const more = stage.random.between(0, 25)
  const isTaken = () => stage.seen.slice(length).some(({ chunk }) => TAKEOVER_CHUNKS.has(chunk.type))
  await stage.until('the sleeper is taken over', () => stage.isOver || isNobodyLeft() || isTaken())
  const taken = stage.seen.length
  stage.notes.push(`one slept at entry ${length}, and was taken over at ${taken}; it wakes up ${more} entries on`)
  await stage.until('more is seen', () => stage.isOver || isNobodyLeft() || stage.seen.length >= taken + more)
}

const TAKEOVER_CHUNKS = new Set(['executor-superseded', 'run-started'])

/** Hands over from one process to another. */
export async function handOvers(stage: ProcessStage): Promise<void> {
  const { random, usual } = stage
  for (let times = random.between(1, 3), maxPoint = usual.appends; times > 0; times--, maxPoint = usual.appends >> 1) {
    const n = random.between(1, maxPoint)
    const leaving = await stage.worker({ paceMs: PACE_MS, moment: { of: ['append'], n, when: 'after', does: 'go on' } })
    await stage.reached(leaving)
    stage.notes.push(`${leaving.tag} left after append ${n}`)
    if (random.pick([true, false])) await leaving.close()
    else void leaving.close()
  }
  await stage.worker()
  await stage.over()
}

/** Disconnects the driver from the store, for a while or until another has continued. */
export async function disconnects(stage: ProcessStage): Promise<void> {
  const { random, stageStore, usual } = stage
  const gate = await stageStore.gate()
  const n = random.between(1, usual.appends)
  const moment: Moment = { of: ['append'], n, when: when(stage), does: 'go on' }
  const cut = await stage.worker({ store: via(stageStore, gate), paceMs: PACE_MS, moment })
  const reached = await stage.reached(cut)
  const how = random.pick(['refused', 'silent'] as const)
  if (how === 'silent') gate.stall(random.pick(['up', 'down', undefined]))
  else {
    gate.refuse(true)
    gate.reset()
  }
  const isRival = random.pick([true, false])
  stage.notes.push(`${cut.tag} cut off (${how}) at append ${n}, ${isRival ? 'until another went on' : 'alone'}`)
  const { length } = stage.seen
  if (reached && isRival) {
    await stage.worker()
    await stage.until('another goes on', () => stage.isOver || stage.seen.length > length)
  } else if (reached) await Promise.race([cut.troubled, stage.over()])
  gate.refuse(false)
  gate.resume()
  await stage.over()
}

/** A proxied store for a process with a short timeout. */
function via({ spec }: StageStore, gate: FaultProxy): StoreSpec {
  if (spec.kind === 'sqlite') throw new Error('there is no server to be cut off from')
  return { ...spec, url: gate.url(spec.url), timeoutMs: CUT_OFF_MS }
}

/** The driver crashes, and its successors lack the program: the session is blocked until one has it. */
export async function missingProgram(stage: ProcessStage): Promise<void> {
  const { random, stageStore, usual } = stage
  const moment: Moment = { of: POINTS, n: random.between(1, usual.points), when: when(stage), does: 'halt' }
  const old = await stage.worker({ moment })
  const reached = await stage.reached(old)
  await old.kill()
  stage.notes.push(`${old.tag} died at point ${moment.n}, ${reached?.point}`)
  await stage.worker({ isAble: false })
  if (!(await isBlocked(stageStore))) stage.notes.push('all was over before')
  await stage.worker()
  await stage.over()
}

/** Waits until the session is reported as blocked. Returns false if nothing is due. */
export async function isBlocked({ runtime }: StageStore): Promise<boolean> {
  for (;;) {
    const { status } = await runtime.status(SESSION)
    if (status === 'blocked' || status === 'idle') return status === 'blocked'
    await pause(BLOCKED_AFTER_MS / 5)
  }
}
