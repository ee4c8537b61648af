// Schedules with crashed, sleeping and disconnected processes. The session must show the same as without faults.

import { setTimeout as pause } from 'node:timers/promises'
import type { FaultProxy } from '../../../../../scripts/faults/proxy.ts'
import { SESSION } from '../crash/tools-program.fixture.ts'
import { BLOCKED_AFTER_MS, type HarnessStore, type ProcessHarness } from './process-harness.fixture.ts'
import { type Moment, POINTS, type Point, type StoreSpec } from './process-messages.fixture.ts'
import type { ScheduledProcess } from './process-pool.fixture.ts'

/** Time between tokens, so that there are more moments without a store call in flight. */
const PACE_MS = 2
/** Maximum delay of a random moment after a point, in ms. */
const SOON_MS = 20
/** How long a store may take to answer a disconnected process, in ms. */
const CUT_OFF_MS = 300

const beforeOrAfter = ({ random }: ProcessHarness): Moment['when'] => random.pick(['before', 'after'])

/** Kills a process at a point, and starts another. */
export async function diesAt(
  harness: ProcessHarness,
  moment: Omit<Moment, 'does' | 'points'>,
): Promise<Point | undefined> {
  const dying = await harness.startDriver({ moment: { ...moment, points: POINTS, does: 'halt' } })
  const reached = await harness.reached(dying)
  harness.trace.push(`${dying.tag} died ${moment.when} point ${moment.n}, ${reached?.point ?? 'not reached'}`)
  if (reached) await dying.kill()
  await harness.startDriver()
  await harness.untilOver()
  return reached?.point
}

/** Kills processes just before and after their store calls. */
export async function deathsAtPoints(harness: ProcessHarness): Promise<void> {
  const { random, typical } = harness
  for (
    let deaths = random.between(1, 3), maxPoint = typical.points;
    deaths > 0;
    deaths--, maxPoint = typical.points >> 1
  ) {
    const moment: Moment = {
      points: POINTS,
      n: random.between(1, maxPoint),
      when: beforeOrAfter(harness),
      does: 'halt',
    }
    const dying = await harness.startDriver({ moment })
    const reached = await harness.reached(dying)
    harness.trace.push(`${dying.tag} died ${moment.when} point ${moment.n}, ${reached?.point ?? 'not reached'}`)
    if (reached) await dying.kill()
  }
  await harness.startDriver()
  await harness.untilOver()
}

/** Kills processes at random moments. */
export async function deathsAtRandomTimes(harness: ProcessHarness): Promise<void> {
  const { random, typical } = harness
  for (
    let deaths = random.between(1, 3), maxPoint = typical.points;
    deaths > 0;
    deaths--, maxPoint = typical.points >> 1
  ) {
    const n = random.between(1, maxPoint)
    const paceMs = random.pick([0, PACE_MS])
    const dying = await harness.startDriver({
      paceMs,
      moment: { points: POINTS, n, when: beforeOrAfter(harness), does: 'continue' },
    })
    await harness.reached(dying)
    const after = random.below(SOON_MS * 10) / 10
    harness.trace.push(`${dying.tag} died ${after.toFixed(1)} ms after point ${n}`)
    await pause(after)
    await dying.kill()
  }
  await harness.startDriver()
  await harness.untilOver()
}

/** Two drivers compete. The active one sleeps beyond its lease and wakes after the other has continued. */
export async function competingDrivers(harness: ProcessHarness): Promise<void> {
  const { random, typical } = harness
  const moment = {
    points: ['append'],
    n: random.between(1, typical.appends),
    when: beforeOrAfter(harness),
    does: 'sleep',
  } as const
  const both = [await harness.startDriver({ moment }), await harness.startDriver({ moment })]
  const asleep = new Set<ScheduledProcess>()
  for (const scheduledProcess of both) {
    scheduledProcess.reached.then(() => {
      asleep.add(scheduledProcess)
      harness.recheck()
    })
  }
  for (const _ of both) {
    await harness.until('one of them sleeps', () => harness.isOver || asleep.size > 0)
    const [sleeper] = asleep
    if (sleeper === undefined) break
    await sleepThrough(harness, () => asleep.size === both.length)
    asleep.delete(sleeper)
    await sleeper.wake()
  }
  await harness.untilOver()
}

/** Waits until another process has continued a sleeping one's run, or none is left that could. */
async function sleepThrough(harness: ProcessHarness, areAllAsleep: () => boolean): Promise<void> {
  const { length } = harness.seen
  const delayEntries = harness.random.between(0, 25)
  const isTakenOver = () => harness.seen.slice(length).some(({ chunk }) => TAKEOVER_CHUNKS.has(chunk.type))
  await harness.until('the sleeper is taken over', () => harness.isOver || areAllAsleep() || isTakenOver())
  const takenOverAt = harness.seen.length
  harness.trace.push(
    `a driver slept at entry ${length}, and was taken over at ${takenOverAt}; it wakes up ${delayEntries} entries later`,
  )
  await harness.until(
    'more entries are read',
    () => harness.isOver || areAllAsleep() || harness.seen.length >= takenOverAt + delayEntries,
  )
}

const TAKEOVER_CHUNKS = new Set(['executor-superseded', 'run-started'])

/** Hands over from one process to another. */
export async function handOvers(harness: ProcessHarness): Promise<void> {
  const { random, typical } = harness
  for (
    let times = random.between(1, 3), maxPoint = typical.appends;
    times > 0;
    times--, maxPoint = typical.appends >> 1
  ) {
    const n = random.between(1, maxPoint)
    const leaving = await harness.startDriver({
      paceMs: PACE_MS,
      moment: { points: ['append'], n, when: 'after', does: 'continue' },
    })
    await harness.reached(leaving)
    harness.trace.push(`${leaving.tag} left after append ${n}`)
    if (random.pick([true, false])) await leaving.close()
    else void leaving.close()
  }
  await harness.startDriver()
  await harness.untilOver()
}

/** Disconnects the driver from the store, for a while or until another has continued. */
export async function disconnects(harness: ProcessHarness): Promise<void> {
  const { random, harnessStore, typical } = harness
  const proxy = await harnessStore.openProxy()
  const n = random.between(1, typical.appends)
  const moment: Moment = { points: ['append'], n, when: beforeOrAfter(harness), does: 'continue' }
  const cut = await harness.startDriver({ store: storeThrough(harnessStore, proxy), paceMs: PACE_MS, moment })
  const reached = await harness.reached(cut)
  const mode = random.pick(['refused', 'silent'] as const)
  if (mode === 'silent') proxy.stall(random.pick(['up', 'down', undefined]))
  else {
    proxy.refuse(true)
    proxy.reset()
  }
  const isRival = random.pick([true, false])
  harness.trace.push(
    `${cut.tag} cut off (${mode}) at append ${n}, ${isRival ? 'until another driver continued' : 'alone'}`,
  )
  const { length } = harness.seen
  if (reached && isRival) {
    await harness.startDriver()
    await harness.until('another driver continues', () => harness.isOver || harness.seen.length > length)
  } else if (reached) await Promise.race([cut.storeUnavailable, harness.untilOver()])
  proxy.refuse(false)
  proxy.resume()
  await harness.untilOver()
}

/** A proxied store for a process with a short timeout. */
function storeThrough({ spec }: HarnessStore, proxy: FaultProxy): StoreSpec {
  if (spec.kind === 'sqlite') throw new Error('sqlite has no server to disconnect from')
  return { ...spec, url: proxy.url(spec.url), timeoutMs: CUT_OFF_MS }
}

/** The driver crashes, and its successors lack the program: the session is blocked until one has it. */
export async function missingProgram(harness: ProcessHarness): Promise<void> {
  const { random, harnessStore, typical } = harness
  const moment: Moment = {
    points: POINTS,
    n: random.between(1, typical.points),
    when: beforeOrAfter(harness),
    does: 'halt',
  }
  const old = await harness.startDriver({ moment })
  const reached = await harness.reached(old)
  await old.kill()
  harness.trace.push(`${old.tag} died at point ${moment.n}, ${reached?.point}`)
  await harness.startDriver({ hasProgram: false })
  if (!(await isBlocked(harnessStore))) harness.trace.push('all runs had ended before')
  await harness.startDriver()
  await harness.untilOver()
}

/** Waits until the session is reported as blocked. Returns false if nothing is due. */
export async function isBlocked({ runtime }: HarnessStore): Promise<boolean> {
  for (;;) {
    const { status } = await runtime.status(SESSION)
    if (status === 'blocked' || status === 'idle') return status === 'blocked'
    await pause(BLOCKED_AFTER_MS / 5)
  }
}
