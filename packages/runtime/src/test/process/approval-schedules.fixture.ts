// Schedules with pendings: one process answers while the drivers crash, and while it crashes itself.

import { setTimeout as pause } from 'node:timers/promises'
import type { ProcessHarness } from './process-harness.fixture.ts'
import { type Moment, type Opening, POINTS } from './process-messages.fixture.ts'

const PACE_MS = 2
const SOON_MS = 10
/** Approximate number of appends of the answering process, without mistakes. */
const TYPICAL_ANSWERS = 7

type AnsweringOptions = NonNullable<Opening['clients']>

const ANSWER_TIMES = ['asked', 'paused', 'on-fault'] as const

/** When people answer, in rotation: when asked, one per pause, or all. */
export const answeringAt = (n: number): AnsweringOptions => ({
  when: ANSWER_TIMES[n % ANSWER_TIMES.length] as AnsweringOptions['when'],
  makesMistakes: true,
})

/** The same schedule with pendings. */
export const withAnswers =
  (play: (harness: ProcessHarness) => Promise<unknown>) =>
  async (harness: ProcessHarness): Promise<void> => {
    const clients = answeringAt(harness.random.below(ANSWER_TIMES.length))
    harness.trace.push(`people answer when ${clients.when}`)
    await harness.startAnswering(clients)
    await play(harness)
  }

/** Answers arrive just before, during or after the driver's death. */
export async function answersAtDeath(harness: ProcessHarness): Promise<void> {
  const { random, typical } = harness
  const answering = await harness.startAnswering({ when: 'on-fault', makesMistakes: random.pick([true, false]) })
  for (let deaths = random.between(1, 3), maxPoint = typical.points; deaths > 0; deaths--, maxPoint >>= 1) {
    const n = random.between(1, maxPoint)
    const moment: Moment = {
      points: POINTS,
      n,
      when: random.pick(['before', 'after']),
      does: random.pick(['halt', 'continue']),
    }
    const dying = await harness.startDriver({ paceMs: random.pick([0, PACE_MS]), moment })
    await harness.reached(dying)
    const order = random.pick(['answers first', 'death first', 'together'] as const)
    harness.trace.push(`${dying.tag} dies ${moment.when} point ${n}, ${order}`)
    if (order === 'death first') await dying.kill()
    await answering.answer()
    if (order === 'answers first') await pause(random.below(SOON_MS))
    await dying.kill()
  }
  await harness.startDriver()
  await harness.untilOver()
}

/** Both the driver and the answering process die. Answers are submitted again and count once. */
export async function bothDie(harness: ProcessHarness): Promise<void> {
  const { random, typical } = harness
  const clients: AnsweringOptions = { when: random.pick(['asked', 'paused']), makesMistakes: false }
  const momentOf = (max: number): Moment => ({
    points: POINTS,
    n: random.between(1, max),
    when: random.pick(['before', 'after']),
    does: random.pick(['halt', 'continue']),
  })
  const driversDie = async (): Promise<void> => {
    for (let deaths = random.between(1, 2), maxPoint = typical.points; deaths > 0; deaths--, maxPoint >>= 1) {
      const moment = momentOf(maxPoint)
      const driver = await harness.startDriver({ paceMs: PACE_MS, moment })
      await harness.reached(driver)
      await driver.kill()
      harness.trace.push(`${driver.tag} died ${moment.when} point ${moment.n}`)
    }
    await harness.startDriver()
  }
  const answeringProcessesDie = async (): Promise<void> => {
    for (let deaths = random.between(1, 2); deaths > 0; deaths--) {
      const moment = momentOf(TYPICAL_ANSWERS >> 1)
      const answering = await harness.startAnswering(clients, { moment })
      await harness.reached(answering)
      await answering.kill()
      harness.trace.push(`${answering.tag} (answering) died ${moment.when} point ${moment.n}`)
    }
    await harness.startAnswering(clients)
  }
  await Promise.all([driversDie(), answeringProcessesDie()])
  await harness.untilOver()
}
