import { StreamManager } from '@millrace/log'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { atEach, FAST, flowPlanOf, PROMPT } from './fault-plan.fixture.ts'
import { knownFirst } from './run-mutants.fixture.ts'
import { playSchedule } from './simulated-schedule.fixture.ts'
import type { Program } from './tools-program.fixture.ts'
import { flowOf } from './workflow.fixture.ts'
import { SCENARIOS } from './workflow.scenarios.fixture.ts'
import { FLOW_MUTANTS, type FlowMutant } from './workflow-mutants.fixture.ts'

/** How many random workflows are tried, and how many schedules of each. */
const SEEDS = 40
const SCHEDULES_PER_WORKFLOW = 5

/** More than any schedule needs. Some mutants never end. */
const MAX_STEPS = 2000

/** Answers come at pauses. */
const PAUSED = { ...PROMPT, when: 'paused' } as const

/** The workflows that search for a mutant, and the plans of each. */
function* plansFor({
  scenario,
}: FlowMutant): Generator<readonly [Program, (points: number) => readonly Parameters<typeof playSchedule>[0][]]> {
  if (scenario !== undefined) {
    yield [SCENARIOS[scenario], points => atEach(points, { ...FAST, clients: PAUSED }, 'death-after')]
    return
  }
  for (let seed = 1; seed <= SEEDS; seed++) {
    yield [
      flowOf(seed),
      points =>
        Array.from({ length: SCHEDULES_PER_WORKFLOW }, (_, at) =>
          flowPlanOf(seed * SCHEDULES_PER_WORKFLOW + at, points),
        ),
    ]
  }
}

describe('the schedules with workflows detect', () => {
  afterEach(() => {
    vi.restoreAllMocks()
  })

  /** A program without a planted bug. */
  const runWithoutFaults = async (program: Program) => playSchedule({ ...FAST, clients: PROMPT }, { program })

  test.each(FLOW_MUTANTS.map(mutant => [mutant.name, mutant] as const))('%s', async (_, mutant) => {
    const otherViolations = new Set<string>()
    let count = 0
    for (const [program, plansOf] of plansFor(mutant)) {
      vi.restoreAllMocks()
      const { record, points } = await runWithoutFaults(program)
      mutant.break?.()
      const create = StreamManager.prototype.createWriter
      vi.spyOn(StreamManager.prototype, 'createWriter').mockImplementation(async function (
        this: StreamManager,
        ...call
      ) {
        const writer = await create.apply(this, call)
        mutant.writer?.(writer)
        return writer
      })
      const options = {
        undisturbed: record,
        program,
        maxSteps: MAX_STEPS,
        ...(mutant.inject && { mutant: mutant.inject }),
      }
      const plans = plansOf(points)
      for (const plan of knownFirst(plans, mutant.plan)) {
        count++
        const { violations } = await playSchedule(plan, options)
        if (violations.some(violation => mutant.violation.test(violation))) return
        for (const violation of violations) otherViolations.add(violation.slice(0, 200))
      }
    }
    expect.unreachable(`${count} schedules found only ${[...otherViolations].join('\n')}`)
  })
})
