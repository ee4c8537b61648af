import { describe, expect, test } from 'vitest'
import { everyNth } from '../../every-nth.fixture.ts'
import { atEach, FAST, type Fault, type Plan, UNDISTURBED } from './fault-plan.fixture.ts'
import { playPlans, undisturbed } from './play-plans.fixture.ts'
import { verdict } from './run-verdict.fixture.ts'

/** One in this many points is played. `npm run chaos` plays every one. */
const SLOW_STEP = 14
const FAULT_STEP = 8

const replayCommand = () => 'npm run chaos -- 50 packages/runtime/src/test/crash/deaths'

/** Plays a plan with these faults at one point in `step`, from the point `offset` on. */
async function playAtPoints(plan: Plan, faults: readonly Fault[], step = 1, offset = 0): Promise<void> {
  const { record, points } = await undisturbed(plan)
  expect(points).toBeGreaterThan(80)
  await playPlans(everyNth(atEach(points, plan, ...faults), step, offset), { undisturbed: record }, replayCommand)
}

test.each([
  ['before', 'death-before'],
  ['after', 'death-after'],
] as const)('a run with a fast model continues when its driver dies %s any store call', (_, fault) =>
  playAtPoints(FAST, [fault]),
)

test.each([
  ['before', 'death-before', 0],
  ['after', 'death-after', SLOW_STEP >> 1],
] as const)('a run with a slow model continues when its driver dies %s a sampled store call', (_, fault, offset) =>
  playAtPoints(UNDISTURBED, [fault], SLOW_STEP, offset),
)

test('the result and the prompts do not depend on the speed of the model', async () => {
  const [fast, slow] = await Promise.all([undisturbed(FAST), undisturbed(UNDISTURBED)])
  expect(verdict(fast.record, { undisturbed: slow.record, isExact: true })).toEqual([])
})

const KINDS: readonly (readonly [title: string, faults: readonly Fault[]])[] = [
  ['law 5: a stop ends the run and keeps what was shown', ['stop']],
  ['law 5: a stop holds when the driver dies before its next call', ['stop', 'death-before']],
  ['law 5: a stop holds when the driver dies after its next call', ['stop', 'death-after']],
  ['law 4: a driver that freezes before a call for longer than its lease is fenced', ['freeze-before']],
  ['law 4: a driver that freezes after a call for longer than its lease is fenced', ['freeze-after']],
  ['law 4: an append of a dead driver that arrives after a takeover is fenced', ['death-late']],
  ['a call whose reply was lost is repeated', ['reply-lost']],
  ['a call whose request was lost is repeated', ['request-lost']],
  ['a handover loses and repeats nothing', ['leave']],
  ['a second driver does not disturb the run', ['rival']],
]

describe('at sampled points of a run with a fast model', () => {
  // Each kind starts at another point, so that together they cover all.
  test.each(KINDS.map(([title, faults], index) => [title, faults, index] as const))('%s', (_, faults, offset) =>
    playAtPoints(FAST, faults, FAULT_STEP, offset),
  )
})
