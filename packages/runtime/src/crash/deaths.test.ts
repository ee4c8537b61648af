import { describe, expect, test } from 'vitest'
import { atEach, FAST, UNDISTURBED } from './plan.fixture.ts'
import type { Report } from './schedule.fixture.ts'
import { pass, undisturbed } from './suite.fixture.ts'
import { verdict } from './verdict.fixture.ts'

const PLANS = [
  ['fast', FAST],
  ['slow', UNDISTURBED],
] as const

/** What hundreds of schedules may take at most, on a machine that has others to do. */
const TIMEOUT = { timeout: 180_000 }

const again = () => 'vitest run packages/runtime/src/crash/deaths.test.ts'

describe.each(PLANS)('with a %s model', (_, plan) => {
  test.each([['death-before'], ['death-after']] as const)('%s each point of the run', TIMEOUT, async fault => {
    const { happened, points } = await undisturbed(plan)
    // There is something to die of.
    expect(points).toBeGreaterThan(80)
    await pass(atEach(points, plan, fault), { undisturbed: happened }, again)
  })
})

test('how fast the model is does not show in the end, nor in what it is told', async () => {
  const [fast, slow] = await Promise.all(PLANS.map(([, plan]) => undisturbed(plan)))
  expect(verdict((fast as Report).happened, { undisturbed: (slow as Report).happened, isExact: true })).toEqual([])
})

describe('at each point of the run', () => {
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
  ] as const)('%s', TIMEOUT, async (_, faults) => {
    const { happened, points } = await undisturbed(FAST)
    await pass(atEach(points, FAST, ...faults), { undisturbed: happened }, again)
  })
})
