import { beforeAll, describe, expect, test } from 'vitest'
import { firstSeed, isCampaign, multiplied, scheduleCount } from '../../../../../scripts/faults/campaign.ts'
import { deathsOf, planOf } from './fault-plan.fixture.ts'
import { pass, undisturbed } from './play-plans.fixture.ts'
import { FAILED_SEEDS } from './run-failed-seeds.fixture.ts'
import type { RunRecord } from './run-verdict.fixture.ts'
import { schedule } from './simulated-schedule.fixture.ts'

const COUNT = scheduleCount(100)
const PAIRS = multiplied(40)
const FIRST = firstSeed()

const again = ({ seed }: { readonly seed: number }): string =>
  `npm run chaos -- --runs 1 --seed ${seed} packages/runtime/src/test/crash/schedules`

describe('two runs with drivers that crash, freeze, lose replies and take over', () => {
  let happened: RunRecord
  beforeAll(async () => {
    happened = (await undisturbed()).happened
  })

  for (const [seed, found] of isCampaign() ? [] : FAILED_SEEDS) {
    test(`seed ${seed}: ${found}`, () => pass([planOf(seed)], { undisturbed: happened }, again))
  }

  test('a seed plays the same schedule each time, to the millisecond', async () => {
    for (let seed = FIRST; seed < FIRST + 2; seed++) {
      const [once, again] = [await schedule(planOf(seed)), await schedule(planOf(seed))]
      expect(again.happened.entries).toEqual(once.happened.entries)
      expect(again.points).toBe(once.points)
    }
  })

  test(`end as without faults after two deaths anywhere, ${PAIRS} schedules`, () => {
    const plans = Array.from({ length: PAIRS }, (_, index) => deathsOf(FIRST + index))
    return pass(
      plans,
      { undisturbed: happened },
      () => `npm run chaos -- --seed ${FIRST} packages/runtime/src/test/crash/schedules`,
    )
  })

  test(`end as without faults, ${COUNT} schedules from seed ${FIRST}`, () => {
    const plans = Array.from({ length: COUNT }, (_, index) => planOf(FIRST + index))
    return pass(plans, { undisturbed: happened }, again)
  })
})
