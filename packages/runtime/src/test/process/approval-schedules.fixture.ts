// Schedules with pendings: one process answers while the drivers crash, and while it crashes itself.

import { setTimeout as pause } from 'node:timers/promises'
import type { ProcessHarness } from './process-harness.fixture.ts'
import { type FaultPoint, type Opening, POINTS } from './process-messages.fixture.ts'

const TOKEN_INTERVAL_MS = 2
/** Maximum time between the answers and the kill, in ms. */
const MAX_DELAY_MS = 10
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
    const faultPoint: FaultPoint = {
      points: POINTS,
      n,
      when: random.pick(['before', 'after']),
      action: random.pick(['halt', 'continue']),
    }
    const dying = await harness.startDriver({ paceMs: random.pick([0, TOKEN_INTERVAL_MS]), faultPoint })
    await harness.reached(dying)
    const order = random.pick(['answers first', 'death first', 'together'] as const)
    harness.trace.push(`${dying.tag} dies ${faultPoint.when} point ${n}, ${order}`)
    if (order === 'death first') await dying.kill()
    await answering.answer()
    if (order === 'answers first') await pause(random.below(MAX_DELAY_MS))
    await dying.kill()
  }
  await harness.startDriver()
  await harness.untilEnded()
}

/** Both the driver and the answering process die. Answers are submitted again and count once. */
export async function bothDie(harness: ProcessHarness): Promise<void> {
  const { random, typical } = harness
  const clients: AnsweringOptions = { when: random.pick(['asked', 'paused']), makesMistakes: false }
  const momentOf = (max: number): FaultPoint => ({
    points: POINTS,
    n: random.between(1, max),
    when: random.pick(['before', 'after']),
    action: random.pick(['halt', 'continue']),
  })
  const driversDie = async (): Promise<void> => {
    for (let deaths = random.between(1, 2), maxPoint = typical.points; deaths > 0; deaths--, maxPoint >>= 1) {
      const faultPoint = momentOf(maxPoint)
      const driver = await harness.startDriver({ paceMs: TOKEN_INTERVAL_MS, faultPoint })
      await harness.reached(driver)
      await driver.kill()
      harness.trace.push(`${driver.tag} died ${faultPoint.when} point ${faultPoint.n}`)
    }
    await harness.startDriver()
  }
  const answeringProcessesDie = async (): Promise<void> => {
    for (let deaths = random.between(1, 2); deaths > 0; deaths--) {
      const faultPoint = momentOf(TYPICAL_ANSWERS >> 1)
      const answering = await harness.startAnswering(clients, { faultPoint })
      await harness.reached(answering)
      await answering.kill()
      harness.trace.push(`${answering.tag} (answering) died ${faultPoint.when} point ${faultPoint.n}`)
    }
    await harness.startAnswering(clients)
  }
  await Promise.all([driversDie(), answeringProcessesDie()])
  await harness.untilEnded()
}
