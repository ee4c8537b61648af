import { describe, expect, test } from 'vitest'
import { firstSeed, isCampaign, multiplied, scheduleCount } from '../../../../../scripts/faults/campaign.ts'
import { pass } from './play-races.fixture.ts'
import { race } from './race.fixture.ts'
import { FAILED_SEEDS } from './race-failed-seeds.fixture.ts'
import { planOf, promptOf } from './race-plan.fixture.ts'

const COUNT = scheduleCount(500)
const PROMPT = multiplied(60)
const FIRST = firstSeed()

describe('law 5: exactly one of a deadline, answers, a stop, another run and another driver wins a pending', () => {
  for (const [seed, found] of isCampaign() ? [] : FAILED_SEEDS)
    test(`seed ${seed}: ${found}`, () => pass([planOf(seed)]))

  test('a seed plays the same race each time', async () => {
    for (let seed = FIRST; seed < FIRST + 5; seed++) {
      const [once, again] = [await race(planOf(seed)), await race(planOf(seed))]
      expect(again.happened.entries).toEqual(once.happened.entries)
      expect(again.happened.results).toEqual(once.happened.results)
    }
  })

  test(`${COUNT} races from seed ${FIRST}`, () =>
    pass(Array.from({ length: COUNT }, (_, index) => planOf(FIRST + index))))

  test(`${PROMPT} races with answers as soon as they are requested`, () =>
    pass(Array.from({ length: PROMPT }, (_, index) => promptOf(FIRST + index))))
})
