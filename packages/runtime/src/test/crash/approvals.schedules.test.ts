import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { firstSeed, isCampaign, multiplied, scheduleCount } from '../../../../../scripts/faults/campaign.ts'
import { approvalsPlanOf, FAST, type Fault, type Plan, PROMPT } from './fault-plan.fixture.ts'
import { playPlans, undisturbed } from './play-plans.fixture.ts'
import type { RunRecord } from './run-verdict.fixture.ts'
import { playSchedule } from './simulated-schedule.fixture.ts'

const COUNT = scheduleCount(32)
const PAIRS = multiplied(20)
const FIRST = firstSeed()

const replayCommand = ({ seed }: { readonly seed: number }): string =>
  `npm run chaos -- --runs 1 --seed ${seed} packages/runtime/src/test/crash/approvals.schedules`

const deaths = fc.constantFrom<Fault>('death-before', 'death-after', 'death-late')

/** The deaths of a driver and of the next one, with answers before, between and after them. */
const pairs: fc.Arbitrary<Plan> = fc
  .record({
    answers: fc.array(fc.integer({ min: 1, max: 200 }), { maxLength: 3 }),
    first: fc.tuple(fc.integer({ min: 1, max: 180 }), deaths),
    second: fc.tuple(fc.integer({ min: 1, max: 120 }), deaths),
    when: fc.constantFrom('asked' as const, 'on-fault' as const),
    via: fc.constantFrom('reliable' as const, 'faulty' as const),
  })
  .map(({ answers, first, second, when, via }) => {
    const faults: (readonly [number, Fault])[] = answers.map(point => [point, 'answer'] as const)
    faults.push(first, [first[0] + second[0], second[1]])
    return { ...FAST, faults: faults.sort(([one], [other]) => one - other), clients: { ...PROMPT, when, via } }
  })

describe('a run with pendings and drivers that crash, freeze, lose replies and take over', () => {
  let record: RunRecord
  beforeAll(async () => {
    record = (await undisturbed({ ...FAST, clients: PROMPT })).record
  })

  test('a seed plays the same schedule each time, to the millisecond', async () => {
    for (let seed = FIRST; seed < FIRST + 2; seed++) {
      const [once, again] = [await playSchedule(approvalsPlanOf(seed)), await playSchedule(approvalsPlanOf(seed))]
      expect(again.record.entries).toEqual(once.record.entries)
      expect(again.points).toBe(once.points)
    }
  })

  if (!isCampaign())
    test(`ends as without faults after two deaths anywhere, ${PAIRS} schedules`, () =>
      fc.assert(
        fc.asyncProperty(pairs, async plan => {
          const { violations } = await playSchedule(plan, { undisturbed: record })
          expect(violations).toEqual([])
        }),
        { numRuns: PAIRS, seed: FIRST },
      ))

  test(`ends as without faults, ${COUNT} schedules from seed ${FIRST}`, () => {
    const plans = Array.from({ length: COUNT }, (_, index) => approvalsPlanOf(FIRST + index))
    return playPlans(plans, { undisturbed: record }, replayCommand)
  })
})
