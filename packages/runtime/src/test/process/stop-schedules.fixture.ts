// Schedules with stops: content that readers have seen stays after any crash.

import { setTimeout as pause } from 'node:timers/promises'
import { SESSION } from '../crash/tools-program.fixture.ts'
import { isBlocked } from './death-schedules.fixture.ts'
import type { ProcessHarness } from './process-harness.fixture.ts'
import { type FaultPoint, POINTS } from './process-messages.fixture.ts'

const TOKEN_INTERVAL_MS = 2
/** Maximum time between a fault point and the stop, in ms. */
const MAX_DELAY_MS = 10

/** Stops the open run, or cancels the next one. */
async function stop(harness: ProcessHarness): Promise<void> {
  const runId = harness.open ?? harness.runs.find(name => !harness.readerChecks.ended.has(name))
  if (runId === undefined) return
  const isAccepted = await harness.harnessStore.runtime.stop(SESSION, runId)
  harness.trace.push(
    `stop of ${runId} requested at about entry ${harness.seen.length}${isAccepted ? '' : ', not accepted'}`,
  )
}

/** A stop at a random moment. */
export async function stops(harness: ProcessHarness): Promise<void> {
  const { random } = harness
  const faultPoint: FaultPoint = { ...randomFaultPoint(harness), action: 'continue' }
  const driving = await harness.startDriver({ paceMs: random.pick([0, TOKEN_INTERVAL_MS]), faultPoint })
  await harness.reached(driving)
  await pause(random.below(MAX_DELAY_MS))
  await stop(harness)
  await harness.untilEnded()
}

/** A stop just before, during or after the driver's death. */
export async function stopsAtDeath(harness: ProcessHarness): Promise<void> {
  const { random } = harness
  const faultPoint: FaultPoint = { ...randomFaultPoint(harness), action: random.pick(['halt', 'continue']) }
  const dying = await harness.startDriver({ paceMs: random.pick([0, TOKEN_INTERVAL_MS]), faultPoint })
  await harness.reached(dying)
  const order = random.pick(['stop first', 'death first', 'together'] as const)
  harness.trace.push(`${dying.tag} dies ${faultPoint.when} point ${faultPoint.n}, ${order}`)
  if (order === 'stop first') await stop(harness)
  const killed = dying.kill()
  if (order !== 'together') await killed
  if (order !== 'stop first') await stop(harness)
  await killed
  await harness.startDriver()
  await harness.untilEnded()
}

/** A stop of a run without a matching program: other processes end it, and the next run waits for its own program. */
export async function stopsBlocked(harness: ProcessHarness): Promise<void> {
  const faultPoint: FaultPoint = { ...randomFaultPoint(harness), action: 'halt' }
  const old = await harness.startDriver({ faultPoint })
  await harness.reached(old)
  await old.kill()
  await harness.startDriver({ hasProgram: false })
  if (await isBlocked(harness.harnessStore)) {
    const { open } = harness
    await stop(harness)
    if (open) await harness.until(`${open} has ended`, () => harness.readerChecks.ended.has(open))
  }
  await harness.startDriver()
  await harness.untilEnded()
}

function randomFaultPoint({ random, typical }: ProcessHarness): Omit<FaultPoint, 'action'> {
  return { points: POINTS, n: random.between(1, typical.points), when: random.pick(['before', 'after']) }
}
