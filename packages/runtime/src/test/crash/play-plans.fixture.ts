// Plays plans of faults in virtual time and fails on the first that ends differently than without faults.

import { expect } from 'vitest'
import { reportFailed, reportPlayed } from '../../../../../scripts/faults/campaign.ts'
import { type Plan, UNDISTURBED } from './fault-plan.fixture.ts'
import { type Report, type ScheduleOptions, schedule } from './simulated-schedule.fixture.ts'
import type { Program } from './tools-program.fixture.ts'

/** How many of the last steps a failure shows. */
const SHOWN_STEPS = 150

const references = new Map<Program | undefined, Map<string, Promise<Report>>>()

/** A plan without faults, which the same plan with faults is compared with. Each is played once. */
export function undisturbed(
  plan: Plan = UNDISTURBED,
  { program }: Pick<ScheduleOptions, 'program'> = {},
): Promise<Report> {
  const known = references.get(program) ?? new Map<string, Promise<Report>>()
  references.set(program, known)
  const key = JSON.stringify(plan)
  const report = known.get(key) ?? playTwice(plan, program && { program })
  known.set(key, report)
  return report
}

async function playTwice(plan: Plan, options: Pick<ScheduleOptions, 'program'> = {}): Promise<Report> {
  const first = await schedule(plan, options)
  const { happened } = first
  expect(first.violations).toEqual([])
  expect((await schedule(plan, { ...options, undisturbed: happened })).violations, 'the same again').toEqual([])
  return first
}

/** Plays plans one after the other. The first that fails is played again with a trace, which the error shows. */
export async function pass(
  plans: Iterable<Plan>,
  options: ScheduleOptions,
  again: (plan: Plan) => string,
): Promise<void> {
  for (const plan of plans) {
    const { violations } = await schedule(plan, options)
    const { seed, faults } = plan
    const deaths = faults.filter(([, fault]) => fault.startsWith('death')).length
    reportPlayed({ schedules: 1, faults: faults.length, deaths })
    if (violations.length === 0) continue
    reportFailed({ seed, again: again(plan) })
    const { trace } = await schedule(plan, { ...options, isTraced: true })
    const end = trace.slice(-SHOWN_STEPS).join('\n')
    const description = `seed ${seed}, ${faults.map(fault => fault.join(' ')).join(', ')}; to run it again: ${again(plan)}`
    expect(violations, `${description}\n${end}\n`).toEqual([])
  }
}
