import { describe, expect, test } from 'vitest'
import { atEach, FAST, flowPlanOf, type Plan, PROMPT } from './plan.fixture.ts'
import { schedule } from './schedule.fixture.ts'
import { pass } from './suite.fixture.ts'
import { flowOf } from './workflow.fixture.ts'
import { KEPT } from './workflow.seeds.fixture.ts'

const RUNS = Number(process.env['MILLRACE_RUNS'] ?? 1)
const FIRST = Number(process.env['MILLRACE_SEED'] ?? 1)
/** How many workflows: so many by default, more by `npm run chaos`, from this seed on; and how many schedules of each. */
const COUNT = Number(process.env['MILLRACE_SCHEDULES'] ?? Math.ceil(50 * RUNS))
const EACH = 4
/** In so many of them a process is killed after appends and calls from the first to the last, about as many of them as this. */
const THROUGH = Math.ceil(6 * RUNS)
const PLACES = 20
/** What a schedule may take at most, on a machine that has others to do. */
const SCHEDULE_MS = 1000

const again = (seed: number) => () =>
  `npm run chaos -- --runs 1 --seed ${seed} packages/runtime/src/crash/workflow.schedules`

/** The workflows of a seed, driven as these plans say. */
async function play(seed: number, plansOf: (points: number) => Iterable<Plan>): Promise<void> {
  const program = flowOf(seed)
  const { happened, points, violations } = await schedule({ ...FAST, crowd: PROMPT }, { program })
  expect(violations, `seed ${seed}, undisturbed`).toEqual([])
  expect(happened.view.runs.map(({ status }) => status)).toEqual(['completed'])
  await pass(plansOf(points), { undisturbed: happened, program }, again(seed))
}

const byChance = (seed: number) => (points: number) =>
  Array.from({ length: EACH }, (_, index) => flowPlanOf(seed * EACH + index, points))

describe('workflows by chance, driven by processes that die, stand still, lose answers and follow each other', () => {
  for (const [seed, found] of KEPT) test(`seed ${seed}: ${found}`, () => play(seed, byChance(seed)))

  test('a seed is the same schedule each time, to the millisecond', async () => {
    for (let seed = FIRST; seed < FIRST + 3; seed++) {
      const [program, plan] = [flowOf(seed), flowPlanOf(seed, 100)]
      const [once, again] = [await schedule(plan, { program }), await schedule(plan, { program })]
      expect(again.happened.entries).toEqual(once.happened.entries)
      expect(again.points).toBe(once.points)
    }
  })

  test(`killed after appends and calls from the first to the last, ${THROUGH} of them`, {
    timeout: 30_000 + THROUGH * PLACES * SCHEDULE_MS,
  }, async () => {
    for (let seed = FIRST; seed < FIRST + THROUGH; seed++) {
      await play(seed, points => {
        const step = Math.ceil(points / PLACES)
        const all = atEach(points, { ...FAST, crowd: PROMPT }, 'death-after')
        return all.filter((_, index) => index % step === seed % step)
      })
    }
  })

  test(`seeds from ${FIRST}, ${COUNT} of them`, { timeout: 30_000 + COUNT * EACH * SCHEDULE_MS }, async () => {
    for (let seed = FIRST; seed < FIRST + COUNT; seed++) await play(seed, byChance(seed))
  })
})
