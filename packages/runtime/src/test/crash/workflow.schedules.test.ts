import { describe, expect, test } from 'vitest'
import { firstSeed, isCampaign, multiplied, scheduleCount } from '../../../../../scripts/faults/campaign.ts'
import { atEach, FAST, flowPlanOf, type Plan, PROMPT } from './fault-plan.fixture.ts'
import { playPlans } from './play-plans.fixture.ts'
import { playSchedule } from './simulated-schedule.fixture.ts'
import { flowOf } from './workflow.fixture.ts'
import { FAILED_SEEDS } from './workflow-failed-seeds.fixture.ts'

/** How many random workflows are played, and how many schedules of each. */
const COUNT = scheduleCount(12)
const SCHEDULES_PER_WORKFLOW = 4
/** How many of them also die at single points, and at about how many points each. */
const DEATH_WORKFLOWS = multiplied(2)
const DEATH_POINTS = 16
const FIRST = firstSeed()

const replayCommand = (seed: number) => () =>
  `npm run chaos -- --runs 1 --seed ${seed} packages/runtime/src/test/crash/workflow.schedules`

/** Plays the workflow of a seed by these plans. */
async function play(seed: number, plansOf: (points: number) => Iterable<Plan>): Promise<void> {
  const program = flowOf(seed)
  const { record, points, violations } = await playSchedule({ ...FAST, clients: PROMPT }, { program })
  expect(violations, `seed ${seed}, undisturbed`).toEqual([])
  expect(record.view.runs.map(({ status }) => status)).toEqual(['completed'])
  await playPlans(plansOf(points), { undisturbed: record, program }, replayCommand(seed))
}

const randomPlansOf = (seed: number) => (points: number) =>
  Array.from({ length: SCHEDULES_PER_WORKFLOW }, (_, index) =>
    flowPlanOf(seed * SCHEDULES_PER_WORKFLOW + index, points),
  )

describe('random workflows with drivers that crash, freeze, lose replies and take over', () => {
  for (const [seed, bug] of isCampaign() ? [] : FAILED_SEEDS) {
    test(`seed ${seed}: ${bug}`, () => play(seed, randomPlansOf(seed)))
  }

  test('a seed plays the same schedule each time, to the millisecond', async () => {
    for (let seed = FIRST; seed < FIRST + 2; seed++) {
      const [program, plan] = [flowOf(seed), flowPlanOf(seed, 100)]
      const [once, again] = [await playSchedule(plan, { program }), await playSchedule(plan, { program })]
      expect(again.record.entries).toEqual(once.record.entries)
      expect(again.points).toBe(once.points)
    }
  })

  test(`end as without faults after a death anywhere, ${DEATH_WORKFLOWS} workflows`, async () => {
    for (let seed = FIRST; seed < FIRST + DEATH_WORKFLOWS; seed++) {
      await play(seed, points => {
        const step = Math.ceil(points / DEATH_POINTS)
        const all = atEach(points, { ...FAST, clients: PROMPT }, 'death-after')
        return all.filter((_, index) => index % step === seed % step)
      })
    }
  })

  test(`end as without faults, ${COUNT} workflows from seed ${FIRST}`, async () => {
    for (let seed = FIRST; seed < FIRST + COUNT; seed++) await play(seed, randomPlansOf(seed))
  })
})
