// Schedules with stops: the shown content stays after any crash.

import { setTimeout as pause } from 'node:timers/promises'
import { SESSION } from '../crash/tools-program.fixture.ts'
import { isBlocked } from './death-schedules.fixture.ts'
import type { ProcessHarness } from './process-harness.fixture.ts'
import { type Moment, POINTS } from './process-messages.fixture.ts'

const PACE_MS = 2
const SOON_MS = 10

/** Stops the open run, or cancels the next one. */
async function stop(harness: ProcessHarness): Promise<void> {
  const runId = harness.open ?? harness.runs.find(name => !harness.readerChecks.ended.has(name))
  if (runId === undefined) return
  const isTaken = await harness.harnessStore.runtime.stop(SESSION, runId)
  harness.trace.push(
    `${runId} asked to stop about entry ${harness.seen.length}${isTaken ? '' : ', which came too late'}`,
  )
}

/** A stop at a random moment. */
export async function stops(harness: ProcessHarness): Promise<void> {
  const { random } = harness
  const moment: Moment = { ...randomMoment(harness), does: 'continue' }
  const driving = await harness.startDriver({ paceMs: random.pick([0, PACE_MS]), moment })
  await harness.reached(driving)
  await pause(random.below(SOON_MS))
  await stop(harness)
  await harness.untilOver()
}

/** A stop just before, during or after the driver's death. */
export async function stopsAtDeath(harness: ProcessHarness): Promise<void> {
  const { random } = harness
  const moment: Moment = { ...randomMoment(harness), does: random.pick(['halt', 'continue']) }
  const dying = await harness.startDriver({ paceMs: random.pick([0, PACE_MS]), moment })
  await harness.reached(dying)
  const order = random.pick(['stop first', 'death first', 'together'] as const)
  harness.trace.push(`${dying.tag} dies ${moment.when} point ${moment.n}, ${order}`)
  if (order === 'stop first') await stop(harness)
  const killed = dying.kill()
  if (order !== 'together') await killed
  if (order !== 'stop first') await stop(harness)
  await killed
  await harness.startDriver()
  await harness.untilOver()
}

/** A stop of a run without a matching program: other processes end it, and the next run waits for its own program. */
export async function stopsBlocked(harness: ProcessHarness): Promise<void> {
  const moment: Moment = { ...randomMoment(harness), does: 'halt' }
  const old = await harness.startDriver({ moment })
  await harness.reached(old)
  await old.kill()
  await harness.startDriver({ hasProgram: false })
  if (await isBlocked(harness.harnessStore)) {
    const { open } = harness
    await stop(harness)
    if (open) await harness.until(`${open} has ended`, () => harness.readerChecks.ended.has(open))
  }
  await harness.startDriver()
  await harness.untilOver()
}

function randomMoment({ random, typical }: ProcessHarness): Omit<Moment, 'does'> {
  return { points: POINTS, n: random.between(1, typical.points), when: random.pick(['before', 'after']) }
}
