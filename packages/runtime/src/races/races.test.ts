import { describe, expect, test } from 'vitest'
import { planOf, promptOf } from './plan.fixture.ts'
import { race } from './race.fixture.ts'
import { KEPT } from './seeds.fixture.ts'
import { pass } from './suite.fixture.ts'

/** How many races: so many by default, more by `npm run chaos`, from this seed on. */
const COUNT = Number(process.env['MILLRACE_SCHEDULES'] ?? Math.ceil(3000 * Number(process.env['MILLRACE_RUNS'] ?? 1)))
const PROMPT = Math.ceil(300 * Number(process.env['MILLRACE_RUNS'] ?? 1))
const FIRST = Number(process.env['MILLRACE_SEED'] ?? 1)
/** What a race may take at most, on a machine that has others to do. */
const RACE_MS = 100

describe('law 5: deadline, answers, stop, another run and another driver race for what waits, and exactly one wins', () => {
  for (const [seed, found] of KEPT) test(`seed ${seed}: ${found}`, () => pass([planOf(seed)]))

  test('a seed is the same race each time', async () => {
    for (let seed = FIRST; seed < FIRST + 10; seed++) {
      const [once, again] = [await race(planOf(seed)), await race(planOf(seed))]
      expect(again.happened.entries).toEqual(once.happened.entries)
      expect(again.happened.told).toEqual(once.happened.told)
    }
  })

  test(`seeds from ${FIRST}, ${COUNT} of them`, { timeout: 30_000 + COUNT * RACE_MS }, () =>
    pass(Array.from({ length: COUNT }, (_, index) => planOf(FIRST + index))),
  )

  test(`answers as soon as they are asked for, ${PROMPT} times`, { timeout: 30_000 + PROMPT * RACE_MS }, () =>
    pass(Array.from({ length: PROMPT }, (_, index) => promptOf(FIRST + index))),
  )
})
