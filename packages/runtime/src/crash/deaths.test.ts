import { describe, expect, test } from 'vitest'
import { type Fault, type Plan, UNDISTURBED } from './plan.fixture.ts'
import { pass, undisturbed } from './suite.fixture.ts'

/** A model that says all in one breath, and one that says a word an append. */
const PACES = [
  ['fast', 0],
  ['slow', 20],
] as const

const again = () => 'vitest run packages/runtime/src/crash/deaths.test.ts'

/** A plan for each point of a run, with these faults from there on. */
const atEach = (points: number, plan: Plan, ...faults: readonly Fault[]): Plan[] =>
  Array.from({ length: points }, (_, index) => ({
    ...plan,
    seed: index + 1,
    faults: faults.map((fault, later) => [index + 1 + later, fault] as const),
  }))

describe.each(PACES)('with a %s model', (_, paceMs) => {
  const plan = { ...UNDISTURBED, paceMs }

  test.each([['death-before'], ['death-after']] as const)('%s each point of the run', async fault => {
    const { happened, points } = await undisturbed(plan)
    // There is something to die of.
    expect(points).toBeGreaterThan(80)
    await pass(atEach(points, plan, fault), { undisturbed: happened }, again)
  })
})

describe('at each point of the run', () => {
  const plan = { ...UNDISTURBED, paceMs: 0 }

  test.each([
    ['law 5: a stop ends the run, and what was shown stays', ['stop']],
    ['law 5: also where the owner dies just then, whatever it was about to say', ['stop', 'death-before']],
    ['law 5: also where what it said last was taken', ['stop', 'death-after']],
    ['law 4: who stands still for longer than its lease is fenced', ['freeze-before']],
    ['law 4: also where the store has done what it asked for', ['freeze-after']],
    ['law 4: what the dead had sent arrives when somebody else has the log', ['death-late']],
    ['an answer that is lost is asked for again', ['reply-lost']],
    ['a call that is lost is made again', ['request-lost']],
    ['a hand-over loses and repeats nothing', ['leave']],
    ['another driver is not in the way', ['rival']],
  ] as const)('%s', async (_, faults) => {
    const { happened, points } = await undisturbed(plan)
    await pass(atEach(points, plan, ...faults), { undisturbed: happened }, again)
  })
})
