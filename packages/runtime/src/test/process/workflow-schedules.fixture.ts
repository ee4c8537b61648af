// Schedules of workflows with interrupts: each pause is answered in another process than the one before.

import type { ProcessHarness } from './process-harness.fixture.ts'
import { type FaultPoint, POINTS } from './process-messages.fixture.ts'
import type { ScheduledProcess } from './process-pool.fixture.ts'

const TOKEN_INTERVAL_MS = 2

/** No crash: one driver runs from the first pause to the end. */
export async function roundsWithoutFaults(harness: ProcessHarness): Promise<void> {
  await harness.startDriver()
  for (let pauses = 1; await isPaused(harness, pauses); pauses++) await answer(harness)
}

/** Kills the driver after its pause and before the answer, and its successor during the replay. */
export async function roundsWithDeaths(harness: ProcessHarness): Promise<void> {
  const { random } = harness
  let driving = random.pick([true, false]) ? await harness.startDriver() : await dieBeforePause(harness, 1)
  for (let pauses = 1; await isPaused(harness, pauses); pauses++) {
    // At least one pause and the way from there.
    const isDeadly = pauses === 1 || random.below(4) === 0
    if (isDeadly) {
      await driving.kill()
      harness.trace.push(`${driving.tag} died at pause ${pauses}, entry ${harness.seen.length}`)
    }
    await answer(harness)
    if (isDeadly) driving = await dieBeforePause(harness, pauses + 1)
  }
}

/** Kills a process on the way to the next pause, unless it gets there first. */
async function dieBeforePause(harness: ProcessHarness, pauses: number): Promise<ScheduledProcess> {
  const { random, typical } = harness
  const faultPoint: FaultPoint = {
    points: POINTS,
    n: random.between(1, typical.points),
    when: random.pick(['before', 'after']),
    action: 'halt',
  }
  const dying = await harness.startDriver({ faultPoint, paceMs: random.pick([0, TOKEN_INTERVAL_MS]) })
  const reached = await Promise.race([dying.reached, isPaused(harness, pauses).then(() => undefined)])
  harness.trace.push(`${dying.tag} died ${faultPoint.when} point ${faultPoint.n}, ${reached ?? 'too late'}`)
  await dying.kill()
  return harness.startDriver()
}

/** Waits for a number of pauses. Returns false if the run has ended. */
async function isPaused(harness: ProcessHarness, times: number): Promise<boolean> {
  const count = () => harness.seen.filter(({ chunk }) => chunk.type === 'run-paused').length
  await harness.until(`the run has paused ${times} times`, () => harness.isOver || count() >= times)
  return !harness.isOver
}

/** Answers all pendings and waits until the answers are in the log. */
async function answer(harness: ProcessHarness): Promise<void> {
  const { answers } = harness
  // The test decides when to answer, not the pause.
  const questions = harness.seen.filter(({ chunk }) => REQUEST_CHUNKS.has(chunk.type))
  for (const entry of questions.slice(harness.answered)) answers.onEntry(entry)
  harness.answered = questions.length
  answers.answer()
  await answers.idle()
}

const REQUEST_CHUNKS: ReadonlySet<string> = new Set(['interrupt', 'tool-approval-request'])
