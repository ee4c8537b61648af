import { beforeAll, describe, expect, test } from 'vitest'
import { firstSeed, isCampaign, multiplied, scheduleCount } from '../../../../../scripts/faults/campaign.ts'
import { deathsOf, planOf } from './fault-plan.fixture.ts'
import { playPlans, undisturbed } from './play-plans.fixture.ts'
import { FAILED_SEEDS } from './run-failed-seeds.fixture.ts'
import type { RunRecord } from './run-verdict.fixture.ts'
import { playSchedule } from './simulated-schedule.fixture.ts'

const COUNT = scheduleCount(100)
const PAIRS = multiplied(40)
const FIRST = firstSeed()

const replayCommand = ({ seed }: { readonly seed: number }): string =>
  `npm run chaos -- --runs 1 --seed ${seed} packages/runtime/src/test/crash/schedules`

describe('two runs with drivers that crash, freeze, lose replies and take over', () => {
  let record: RunRecord
  beforeAll(async () => {
    record = (await undisturbed()).record
  })

  for (const [seed, bug] of isCampaign() ? [] : FAILED_SEEDS) {
    test(`seed ${seed}: ${bug}`, () => playPlans([planOf(seed)], { undisturbed: record }, replayCommand))
  }

  test('a seed plays the same schedule each time, to the millisecond', async () => {
    for (let seed = FIRST; seed < FIRST + 2; seed++) {
      const [once, again] = [await playSchedule(planOf(seed)), await playSchedule(planOf(seed))]
      expect(again.record.entries).toEqual(once.record.entries)
      expect(again.points).toBe(once.points)
    }
  })

  test(`end as without faults after two deaths anywhere, ${PAIRS} schedules`, () => {
    const plans = Array.from({ length: PAIRS }, (_, index) => deathsOf(FIRST + index))
    return playPlans(
      plans,
      { undisturbed: record },
      () => `npm run chaos -- --seed ${FIRST} packages/runtime/src/test/crash/schedules`,
    )
  })

  test(`end as without faults, ${COUNT} schedules from seed ${FIRST}`, () => {
    const plans = Array.from({ length: COUNT }, (_, index) => planOf(FIRST + index))
    return playPlans(plans, { undisturbed: record }, replayCommand)
  })
})
