// Schedules with stops: the shown content stays after any crash.

import { setTimeout as pause } from 'node:timers/promises'
import { SESSION } from '../crash/tools-program.fixture.ts'
import { isBlocked } from './death-schedules.fixture.ts'
import { type Moment, POINTS } from './process-messages.fixture.ts'
import type { ProcessStage } from './process-stage.fixture.ts'

const PACE_MS = 2
const SOON_MS = 10

/** Stops the open run, or cancels the next one. */
async function stop(stage: ProcessStage): Promise<void> {
  const runId = stage.open ?? stage.runs.find(name => !stage.story.ended.has(name))
  if (runId === undefined) return
  const isTaken = await stage.stageStore.runtime.stop(SESSION, runId)
  stage.notes.push(`${runId} asked to stop about entry ${stage.seen.length}${isTaken ? '' : ', which came too late'}`)
}

/** A stop at a random moment. */
export async function stops(stage: ProcessStage): Promise<void> {
  const { random } = stage
  const moment: Moment = { ...drawn(stage), does: 'go on' }
  const driving = await stage.worker({ paceMs: random.pick([0, PACE_MS]), moment })
  await stage.reached(driving)
  await pause(random.below(SOON_MS))
  await stop(stage)
  await stage.over()
}

/** A stop just before, during or after the driver's death. */
export async function stopsAtDeath(stage: ProcessStage): Promise<void> {
  const { random } = stage
  const moment: Moment = { ...drawn(stage), does: random.pick(['halt', 'go on']) }
  const dying = await stage.worker({ paceMs: random.pick([0, PACE_MS]), moment })
  await stage.reached(dying)
  const order = random.pick(['stop first', 'death first', 'together'] as const)
  stage.notes.push(`${dying.tag} dies ${moment.when} point ${moment.n}, ${order}`)
  if (order === 'stop first') await stop(stage)
  const killed = dying.kill()
  if (order !== 'together') await killed
  if (order !== 'stop first') await stop(stage)
  await killed
  await stage.worker()
  await stage.over()
}

/** A stop of a run without a matching program: other processes end it, and the next run waits for its own program. */
export async function stopsBlocked(stage: ProcessStage): Promise<void> {
  const moment: Moment = { ...drawn(stage), does: 'halt' }
  const old = await stage.worker({ moment })
  await stage.reached(old)
  await old.kill()
  await stage.worker({ isAble: false })
  if (await isBlocked(stage.stageStore)) {
    const { open } = stage
    await stop(stage)
    if (open) await stage.until(`${open} has ended`, () => stage.story.ended.has(open))
  }
  await stage.worker()
  await stage.over()
}

function drawn({ random, usual }: ProcessStage): Omit<Moment, 'does'> {
  return { of: POINTS, n: random.between(1, usual.points), when: random.pick(['before', 'after']) }
}
