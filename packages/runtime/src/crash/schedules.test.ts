import { beforeAll, describe, expect, test } from 'vitest'
import { deathsOf, planOf } from './plan.fixture.ts'
import { schedule } from './schedule.fixture.ts'
import { KEPT } from './seeds.fixture.ts'
import { pass, undisturbed } from './suite.fixture.ts'
import type { Happened } from './verdict.fixture.ts'

/** How many schedules: so many by default, more by `npm run chaos`, from this seed on. */
const COUNT = Number(process.env['MILLRACE_SCHEDULES'] ?? Math.ceil(400 * Number(process.env['MILLRACE_RUNS'] ?? 1)))
const PAIRS = Math.ceil(150 * Number(process.env['MILLRACE_RUNS'] ?? 1))
const FIRST = Number(process.env['MILLRACE_SEED'] ?? 1)
/** What a schedule may take at most, on a machine that has others to do. */
const SCHEDULE_MS = 500

const again = ({ seed }: { readonly seed: number }): string =>
  `npm run chaos -- --runs 1 --seed ${seed} packages/runtime/src/crash/schedules`

describe('the program, driven by processes that die, stand still, lose answers and follow each other', () => {
  let happened: Happened
  beforeAll(async () => {
    happened = (await undisturbed()).happened
  })

  for (const [seed, found] of KEPT) {
    test(`seed ${seed}: ${found}`, () => pass([planOf(seed)], { undisturbed: happened }, again))
  }

  test('a seed is the same schedule each time, to the millisecond', async () => {
    for (let seed = FIRST; seed < FIRST + 5; seed++) {
      const [once, again] = [await schedule(planOf(seed)), await schedule(planOf(seed))]
      expect(again.happened.entries).toEqual(once.happened.entries)
      expect(again.points).toBe(once.points)
    }
  })

  test(`two deaths, anywhere, ${PAIRS} times`, { timeout: 30_000 + PAIRS * SCHEDULE_MS }, () => {
    const plans = Array.from({ length: PAIRS }, (_, index) => deathsOf(FIRST + index))
    return pass(
      plans,
      { undisturbed: happened },
      () => `npm run chaos -- --seed ${FIRST} packages/runtime/src/crash/schedules`,
    )
  })

  test(`seeds from ${FIRST}, ${COUNT} of them`, { timeout: 30_000 + COUNT * SCHEDULE_MS }, () => {
    const plans = Array.from({ length: COUNT }, (_, index) => planOf(FIRST + index))
    return pass(plans, { undisturbed: happened }, again)
  })
})
