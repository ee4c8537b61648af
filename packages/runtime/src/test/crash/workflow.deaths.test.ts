import { describe, expect, test } from 'vitest'
import { everyNth } from '../../every-nth.fixture.ts'
import { atEach, FAST, type Fault, type Plan, PROMPT } from './fault-plan.fixture.ts'
import { playPlans, undisturbed } from './play-plans.fixture.ts'
import { SCENARIOS, type ScenarioName } from './workflow.scenarios.fixture.ts'
import { FLOW_MUTANTS } from './workflow-mutants.fixture.ts'

/** Tests every nth point, with another offset for each scenario and kind. `npm run chaos` tests every point. */
const STEP = 7
const OTHER_STEP = 30

const ASKED: Plan = { ...FAST, clients: PROMPT }
const PAUSED: Plan = { ...FAST, clients: { ...PROMPT, when: 'paused' } }
const ON_FAULT: Plan = { ...FAST, clients: { ...PROMPT, when: 'on-fault' } }

const KINDS: readonly (readonly [title: string, plan: Plan, faults: readonly Fault[], step: number])[] = [
  [
    'continues when its driver dies after a call, with answers as soon as they are requested',
    ASKED,
    ['death-after'],
    STEP,
  ],
  ['continues when its driver dies before a call', ASKED, ['death-before'], OTHER_STEP],
  ['continues when its driver dies after a call, with one answer at each pause', PAUSED, ['death-after'], OTHER_STEP],
  [
    'continues when its driver dies just after everything was answered',
    ON_FAULT,
    ['answer', 'death-after'],
    OTHER_STEP,
  ],
  ['law 5: ends by a stop just before its driver dies', PAUSED, ['stop', 'death-after'], OTHER_STEP],
  ['law 4: fences a driver that freezes after a call', PAUSED, ['freeze-after'], OTHER_STEP],
  ['continues after a handover', PAUSED, ['leave'], OTHER_STEP],
]

const replayCommand = () => 'npm run chaos -- 50 packages/runtime/src/test/crash/workflow.deaths'

const NAMES = Object.keys(SCENARIOS) as ScenarioName[]

/** The points of a scenario at which a death after a call is known to show a mutant. They are always played. */
const mutantPointsOf = (name: ScenarioName): ReadonlySet<number> =>
  new Set(FLOW_MUTANTS.flatMap(({ scenario, plan }) => (scenario === name && plan !== undefined ? [plan] : [])))

describe.each(NAMES)('the workflow %s', name => {
  test.each(KINDS.map((kind, index) => [...kind, index] as const))('%s', async (_, plan, faults, step, index) => {
    const program = SCENARIOS[name]
    const { record, points } = await undisturbed(plan, { program })
    expect(points).toBeGreaterThan(50)
    const offset = NAMES.indexOf(name) + 4 * index
    const mutantPoints = plan === PAUSED && faults.join() === 'death-after' ? mutantPointsOf(name) : undefined
    const plans = everyNth(atEach(points, plan, ...faults), step, offset, mutantPoints)
    await playPlans(plans, { undisturbed: record, program }, replayCommand)
  })
})
