// Schedules with crashed, sleeping and disconnected processes. The session must show the same as without faults.

import { setTimeout as pause } from 'node:timers/promises'
import type { FaultProxy } from '../../../../../scripts/faults/proxy.ts'
import { SESSION } from '../crash/tools-program.fixture.ts'
import { BLOCKED_AFTER_MS, type HarnessStore, type ProcessHarness } from './process-harness.fixture.ts'
import { type FaultPoint, POINTS, type Point, type StoreSpec } from './process-messages.fixture.ts'
import type { ScheduledProcess } from './process-pool.fixture.ts'

/** Time between tokens, so that a kill can also hit while no store call is in flight. */
const TOKEN_INTERVAL_MS = 2
/** Maximum time between a fault point and the kill, in ms. */
const MAX_DELAY_MS = 20
/** How long a store may take to answer a disconnected process, in ms. */
const CUT_OFF_MS = 300

const beforeOrAfter = ({ random }: ProcessHarness): FaultPoint['when'] => random.pick(['before', 'after'])

/** Kills a process at a point, and starts another. */
export async function diesAt(
  harness: ProcessHarness,
  faultPoint: Omit<FaultPoint, 'action' | 'points'>,
): Promise<Point | undefined> {
  const dying = await harness.startDriver({ faultPoint: { ...faultPoint, points: POINTS, action: 'halt' } })
  const reached = await harness.reached(dying)
  harness.trace.push(`${dying.tag} died ${faultPoint.when} point ${faultPoint.n}, ${reached?.point ?? 'not reached'}`)
  if (reached) await dying.kill()
  await harness.startDriver()
  await harness.untilEnded()
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
    const faultPoint: FaultPoint = {
      points: POINTS,
      n: random.between(1, maxPoint),
      when: beforeOrAfter(harness),
      action: 'halt',
    }
    const dying = await harness.startDriver({ faultPoint })
    const reached = await harness.reached(dying)
    harness.trace.push(`${dying.tag} died ${faultPoint.when} point ${faultPoint.n}, ${reached?.point ?? 'not reached'}`)
    if (reached) await dying.kill()
  }
  await harness.startDriver()
  await harness.untilEnded()
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
    const paceMs = random.pick([0, TOKEN_INTERVAL_MS])
    const dying = await harness.startDriver({
      paceMs,
      faultPoint: { points: POINTS, n, when: beforeOrAfter(harness), action: 'continue' },
    })
    await harness.reached(dying)
    const after = random.below(MAX_DELAY_MS * 10) / 10
    harness.trace.push(`${dying.tag} died ${after.toFixed(1)} ms after point ${n}`)
    await pause(after)
    await dying.kill()
  }
  await harness.startDriver()
  await harness.untilEnded()
}

/** Two drivers compete. The active one sleeps beyond its lease and wakes after the other has continued. */
export async function competingDrivers(harness: ProcessHarness): Promise<void> {
  const { random, typical } = harness
  const faultPoint = {
    points: ['append'],
    n: random.between(1, typical.appends),
    when: beforeOrAfter(harness),
    action: 'sleep',
  } as const
  const both = [await harness.startDriver({ faultPoint }), await harness.startDriver({ faultPoint })]
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
  await harness.untilEnded()
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
      paceMs: TOKEN_INTERVAL_MS,
      faultPoint: { points: ['append'], n, when: 'after', action: 'continue' },
    })
    await harness.reached(leaving)
    harness.trace.push(`${leaving.tag} left after append ${n}`)
    if (random.pick([true, false])) await leaving.close()
    else void leaving.close()
  }
  await harness.startDriver()
  await harness.untilEnded()
}

/** Disconnects the driver from the store, for a while or until another has continued. */
export async function disconnects(harness: ProcessHarness): Promise<void> {
  const { random, harnessStore, typical } = harness
  const proxy = await harnessStore.openProxy()
  const n = random.between(1, typical.appends)
  const faultPoint: FaultPoint = { points: ['append'], n, when: beforeOrAfter(harness), action: 'continue' }
  const cut = await harness.startDriver({
    store: storeThrough(harnessStore, proxy),
    paceMs: TOKEN_INTERVAL_MS,
    faultPoint,
  })
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
  } else if (reached) await Promise.race([cut.storeUnavailable, harness.untilEnded()])
  proxy.refuse(false)
  proxy.resume()
  await harness.untilEnded()
}

/** A proxied store for a process with a short timeout. */
function storeThrough({ spec }: HarnessStore, proxy: FaultProxy): StoreSpec {
  if (spec.kind === 'sqlite') throw new Error('sqlite has no server to disconnect from')
  return { ...spec, url: proxy.url(spec.url), timeoutMs: CUT_OFF_MS }
}

/** The driver crashes, and its successors lack the program: the session is blocked until one has it. */
export async function missingProgram(harness: ProcessHarness): Promise<void> {
  const { random, harnessStore, typical } = harness
  const faultPoint: FaultPoint = {
    points: POINTS,
    n: random.between(1, typical.points),
    when: beforeOrAfter(harness),
    action: 'halt',
  }
  const old = await harness.startDriver({ faultPoint })
  const reached = await harness.reached(old)
  await old.kill()
  harness.trace.push(`${old.tag} died at point ${faultPoint.n}, ${reached?.point}`)
  await harness.startDriver({ hasProgram: false })
  if (!(await isBlocked(harnessStore))) harness.trace.push('all runs had ended before')
  await harness.startDriver()
  await harness.untilEnded()
}

/** Waits until the session is reported as blocked. Returns false if nothing is due. */
export async function isBlocked({ runtime }: HarnessStore): Promise<boolean> {
  for (;;) {
    const { status } = await runtime.status(SESSION)
    if (status === 'blocked' || status === 'idle') return status === 'blocked'
    await pause(BLOCKED_AFTER_MS / 5)
  }
}
