// Schedules of workflows with interrupts: each pause is answered in another process than the one before.

import { type Moment, POINTS } from './process-messages.fixture.ts'
import type { ScheduledProcess } from './process-pool.fixture.ts'
import type { ProcessStage } from './process-stage.fixture.ts'

const PACE_MS = 2

/** No crash: one driver runs from the first pause to the end. */
export async function undisturbedRounds(stage: ProcessStage): Promise<void> {
  await stage.worker()
  for (let pauses = 1; await isPaused(stage, pauses); pauses++) await answer(stage)
}

/** Kills the driver after its pause and before the answer, and its successor during the replay. */
export async function deadlyRounds(stage: ProcessStage): Promise<void> {
  const { random } = stage
  let driving = random.pick([true, false]) ? await stage.worker() : await diesOnTheWay(stage, 1)
  for (let pauses = 1; await isPaused(stage, pauses); pauses++) {
    // At least one pause and the way from there.
    const isDeadly = pauses === 1 || random.below(4) === 0
    if (isDeadly) {
      await driving.kill()
      stage.notes.push(`${driving.tag} died at pause ${pauses}, entry ${stage.seen.length}`)
    }
    await answer(stage)
    if (isDeadly) driving = await diesOnTheWay(stage, pauses + 1)
  }
}

/** Kills a process on the way to the next pause, unless it gets there first. */
async function diesOnTheWay(stage: ProcessStage, pauses: number): Promise<ScheduledProcess> {
  const { random, usual } = stage
  const moment: Moment = {
    of: POINTS,
    n: random.between(1, usual.points),
    when: random.pick(['before', 'after']),
    does: 'halt',
  }
  const dying = await stage.worker({ moment, paceMs: random.pick([0, PACE_MS]) })
  const reached = await Promise.race([dying.reached, isPaused(stage, pauses).then(() => undefined)])
  stage.notes.push(`${dying.tag} died ${moment.when} point ${moment.n}, ${reached ?? 'too late'}`)
  await dying.kill()
  return stage.worker()
}

/** Waits for a number of pauses. Returns false if the run has ended. */
async function isPaused(stage: ProcessStage, times: number): Promise<boolean> {
  const count = () => stage.seen.filter(({ chunk }) => chunk.type === 'run-paused').length
  await stage.until(`the run has paused ${times} times`, () => stage.isOver || count() >= times)
  return !stage.isOver
}

/** Answers all pendings and waits until the answers are in the log. */
async function answer(stage: ProcessStage): Promise<void> {
  const { answers } = stage
  // The test decides when to answer, not the pause.
  const questions = stage.seen.filter(({ chunk }) => ASKING.has(chunk.type))
  for (const entry of questions.slice(stage.answered)) answers.onEntry(entry)
  stage.answered = questions.length
  answers.answer()
  await answers.idle()
}

const ASKING: ReadonlySet<string> = new Set(['interrupt', 'tool-approval-request'])
