import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { FAST, type Fault, type Plan, PROMPT, peoplePlanOf } from './plan.fixture.ts'
import { schedule } from './schedule.fixture.ts'
import { pass, undisturbed } from './suite.fixture.ts'
import type { Happened } from './verdict.fixture.ts'

const RUNS = Number(process.env['MILLRACE_RUNS'] ?? 1)
/** How many schedules: so many by default, more by `npm run chaos`, from this seed on. */
const COUNT = Number(process.env['MILLRACE_SCHEDULES'] ?? Math.ceil(100 * RUNS))
const PAIRS = Math.ceil(70 * RUNS)
const FIRST = Number(process.env['MILLRACE_SEED'] ?? 1)
/** What a schedule may take at most, on a machine that has others to do. */
const SCHEDULE_MS = 1000

const again = ({ seed }: { readonly seed: number }): string =>
  `npm run chaos -- --runs 1 --seed ${seed} packages/runtime/src/crash/people.schedules`

const deaths = fc.constantFrom<Fault>('death-before', 'death-after', 'death-late')

/** Two deaths, of a process and of who takes its place, with answers before, between and after them. */
const pairs: fc.Arbitrary<Plan> = fc
  .record({
    answers: fc.array(fc.integer({ min: 1, max: 200 }), { maxLength: 3 }),
    first: fc.tuple(fc.integer({ min: 1, max: 180 }), deaths),
    second: fc.tuple(fc.integer({ min: 1, max: 120 }), deaths),
    when: fc.constantFrom('asked' as const, 'told' as const),
    via: fc.constantFrom('desk' as const, 'front' as const),
  })
  .map(({ answers, first, second, when, via }) => {
    const faults: (readonly [number, Fault])[] = answers.map(point => [point, 'answer'] as const)
    faults.push(first, [first[0] + second[0], second[1]])
    return { ...FAST, faults: faults.sort(([one], [other]) => one - other), crowd: { ...PROMPT, when, via } }
  })

describe('the program with people, driven by processes that die, stand still, lose answers and follow each other', () => {
  let happened: Happened
  beforeAll(async () => {
    happened = (await undisturbed({ ...FAST, crowd: PROMPT })).happened
  })

  test('a seed is the same schedule each time, to the millisecond', async () => {
    for (let seed = FIRST; seed < FIRST + 3; seed++) {
      const [once, again] = [await schedule(peoplePlanOf(seed)), await schedule(peoplePlanOf(seed))]
      expect(again.happened.entries).toEqual(once.happened.entries)
      expect(again.points).toBe(once.points)
    }
  })

  test(`two deaths, anywhere, ${PAIRS} times`, { timeout: 30_000 + PAIRS * SCHEDULE_MS }, () =>
    fc.assert(
      fc.asyncProperty(pairs, async plan => {
        const { violations } = await schedule(plan, { undisturbed: happened })
        expect(violations).toEqual([])
      }),
      { numRuns: PAIRS, seed: FIRST },
    ),
  )

  test(`seeds from ${FIRST}, ${COUNT} of them`, { timeout: 30_000 + COUNT * SCHEDULE_MS }, () => {
    const plans = Array.from({ length: COUNT }, (_, index) => peoplePlanOf(FIRST + index))
    return pass(plans, { undisturbed: happened }, again)
  })
})
