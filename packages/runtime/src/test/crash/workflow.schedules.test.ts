import { describe, expect, test } from 'vitest'
import { firstSeed, isCampaign, multiplied, scheduleCount } from '../../../../../scripts/faults/campaign.ts'
import { atEach, FAST, flowPlanOf, type Plan, PROMPT } from './fault-plan.fixture.ts'
import { pass } from './play-plans.fixture.ts'
import { schedule } from './simulated-schedule.fixture.ts'
import { flowOf } from './workflow.fixture.ts'
import { FAILED_SEEDS } from './workflow-failed-seeds.fixture.ts'

/** How many random workflows are played, and how many schedules of each. */
const COUNT = scheduleCount(12)
const EACH = 4
/** In how many of them a process is killed at about this many points from the first to the last. */
const THROUGH = multiplied(2)
const PLACES = 16
const FIRST = firstSeed()

const again = (seed: number) => () =>
  `npm run chaos -- --runs 1 --seed ${seed} packages/runtime/src/test/crash/workflow.schedules`

/** Plays the workflow of a seed by these plans. */
async function play(seed: number, plansOf: (points: number) => Iterable<Plan>): Promise<void> {
  const program = flowOf(seed)
  const { happened, points, violations } = await schedule({ ...FAST, clients: PROMPT }, { program })
  expect(violations, `seed ${seed}, undisturbed`).toEqual([])
  expect(happened.view.runs.map(({ status }) => status)).toEqual(['completed'])
  await pass(plansOf(points), { undisturbed: happened, program }, again(seed))
}

const byChance = (seed: number) => (points: number) =>
  Array.from({ length: EACH }, (_, index) => flowPlanOf(seed * EACH + index, points))

describe('random workflows with drivers that crash, freeze, lose replies and take over', () => {
  for (const [seed, found] of isCampaign() ? [] : FAILED_SEEDS) {
    test(`seed ${seed}: ${found}`, () => play(seed, byChance(seed)))
  }

  test('a seed plays the same schedule each time, to the millisecond', async () => {
    for (let seed = FIRST; seed < FIRST + 2; seed++) {
      const [program, plan] = [flowOf(seed), flowPlanOf(seed, 100)]
      const [once, again] = [await schedule(plan, { program }), await schedule(plan, { program })]
      expect(again.happened.entries).toEqual(once.happened.entries)
      expect(again.points).toBe(once.points)
    }
  })

  test(`end as without faults after a death anywhere, ${THROUGH} workflows`, async () => {
    for (let seed = FIRST; seed < FIRST + THROUGH; seed++) {
      await play(seed, points => {
        const step = Math.ceil(points / PLACES)
        const all = atEach(points, { ...FAST, clients: PROMPT }, 'death-after')
        return all.filter((_, index) => index % step === seed % step)
      })
    }
  })

  test(`end as without faults, ${COUNT} workflows from seed ${FIRST}`, async () => {
    for (let seed = FIRST; seed < FIRST + COUNT; seed++) await play(seed, byChance(seed))
  })
})
