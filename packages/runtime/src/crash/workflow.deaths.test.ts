import { describe, expect, test } from 'vitest'
import { atEach, FAST, type Fault, type Plan, PROMPT } from './plan.fixture.ts'
import { pass, undisturbed } from './suite.fixture.ts'
import { SCENARIOS, type ScenarioName } from './workflow.scenarios.fixture.ts'

const TIMEOUT = { timeout: 240_000 }

const ASKED: Plan = { ...FAST, crowd: PROMPT }
const PAUSED: Plan = { ...FAST, crowd: { ...PROMPT, when: 'paused' } }
const TOLD: Plan = { ...FAST, crowd: { ...PROMPT, when: 'told' } }

const again = () => 'vitest run packages/runtime/src/crash/workflow.deaths.test.ts'

/** All points of a plan, or one in so many, with these faults from there on. */
async function atAll(name: ScenarioName, plan: Plan, faults: readonly Fault[], step: number): Promise<void> {
  const program = SCENARIOS[name]
  const { happened, points } = await undisturbed(plan, { program })
  // There is something to die of.
  expect(points).toBeGreaterThan(50)
  const plans = atEach(points, plan, ...faults).filter((_, index) => index % step === 0)
  await pass(plans, { undisturbed: happened, program }, again)
}

describe.each(Object.keys(SCENARIOS) as ScenarioName[])('%s', name => {
  test('killed after each point, with people who answer at once', TIMEOUT, () => atAll(name, ASKED, ['death-after'], 1))

  test.each([
    ['killed before it', ASKED, ['death-before']],
    ['killed after it, with people who answer at pauses, one at a time', PAUSED, ['death-after']],
    ['all is answered just before the death', TOLD, ['answer', 'death-after']],
    ['law 5: asked to stop, just before the death', PAUSED, ['stop', 'death-after']],
    ['law 4: fenced, when the store has done what it asked for', PAUSED, ['freeze-after']],
    ['handed over', PAUSED, ['leave']],
  ] as const)('at some points of the run: %s', TIMEOUT, (_, plan, faults) => atAll(name, plan, faults, 9))
})
