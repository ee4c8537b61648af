// Schedules with pendings: one process answers while the drivers crash, and while it crashes itself.

import { setTimeout as pause } from 'node:timers/promises'
import { type Moment, type Opening, POINTS } from './process-messages.fixture.ts'
import type { ProcessStage } from './process-stage.fixture.ts'

const PACE_MS = 2
const SOON_MS = 10
/** Approximate number of appends of the answering process, without mistakes. */
const USUAL_ANSWERS = 7

type AnsweringOptions = NonNullable<Opening['clients']>

const WHENS = ['asked', 'paused', 'told'] as const

/** When people answer, in rotation: when asked, one per pause, or all. */
export const answeringAt = (n: number): AnsweringOptions => ({
  when: WHENS[n % WHENS.length] as AnsweringOptions['when'],
  errs: true,
})

/** The same schedule with pendings. */
export const withAnswers =
  (play: (stage: ProcessStage) => Promise<unknown>) =>
  async (stage: ProcessStage): Promise<void> => {
    const clients = answeringAt(stage.random.below(WHENS.length))
    stage.notes.push(`people answer when ${clients.when}`)
    await stage.front(clients)
    await play(stage)
  }

/** Answers arrive just before, during or after the driver's death. */
export async function answersAtDeath(stage: ProcessStage): Promise<void> {
  const { random, usual } = stage
  const front = await stage.front({ when: 'told', errs: random.pick([true, false]) })
  for (let deaths = random.between(1, 3), maxPoint = usual.points; deaths > 0; deaths--, maxPoint >>= 1) {
    const n = random.between(1, maxPoint)
    const moment: Moment = {
      of: POINTS,
      n,
      when: random.pick(['before', 'after']),
      does: random.pick(['halt', 'go on']),
    }
    const dying = await stage.worker({ paceMs: random.pick([0, PACE_MS]), moment })
    await stage.reached(dying)
    const order = random.pick(['answers first', 'death first', 'together'] as const)
    stage.notes.push(`${dying.tag} dies ${moment.when} point ${n}, ${order}`)
    if (order === 'death first') await dying.kill()
    await front.answer()
    if (order === 'answers first') await pause(random.below(SOON_MS))
    await dying.kill()
  }
  await stage.worker()
  await stage.over()
}

/** Both the driver and the answering process die. Answers are submitted again and count once. */
export async function bothDie(stage: ProcessStage): Promise<void> {
  const { random, usual } = stage
  const clients: AnsweringOptions = { when: random.pick(['asked', 'paused']), errs: false }
  const momentOf = (max: number): Moment => ({
    of: POINTS,
    n: random.between(1, max),
    when: random.pick(['before', 'after']),
    does: random.pick(['halt', 'go on']),
  })
  const dying = async (): Promise<void> => {
    for (let deaths = random.between(1, 2), maxPoint = usual.points; deaths > 0; deaths--, maxPoint >>= 1) {
      const moment = momentOf(maxPoint)
      const driver = await stage.worker({ paceMs: PACE_MS, moment })
      await stage.reached(driver)
      await driver.kill()
      stage.notes.push(`${driver.tag} died ${moment.when} point ${moment.n}`)
    }
    await stage.worker()
  }
  const mute = async (): Promise<void> => {
    for (let deaths = random.between(1, 2); deaths > 0; deaths--) {
      const moment = momentOf(USUAL_ANSWERS >> 1)
      const front = await stage.front(clients, { moment })
      await stage.reached(front)
      await front.kill()
      stage.notes.push(`${front.tag}, who answers, died ${moment.when} point ${moment.n}`)
    }
    await stage.front(clients)
  }
  await Promise.all([dying(), mute()])
  await stage.over()
}
