// Plays plans of faults in virtual time and fails on the first that ends differently than without faults.

import { expect } from 'vitest'
import { reportFailed, reportPlayed } from '../../../../../scripts/faults/campaign.ts'
import { type Plan, UNDISTURBED } from './fault-plan.fixture.ts'
import { playSchedule, type Report, type ScheduleOptions } from './simulated-schedule.fixture.ts'
import type { Program } from './tools-program.fixture.ts'

/** How many of the last steps a failure shows. */
const SHOWN_STEPS = 150

const references = new Map<Program | undefined, Map<string, Promise<Report>>>()

/** A plan without faults, which the same plan with faults is compared with. Each is played once. */
export function undisturbed(
  plan: Plan = UNDISTURBED,
  { program }: Pick<ScheduleOptions, 'program'> = {},
): Promise<Report> {
  const reports = references.get(program) ?? new Map<string, Promise<Report>>()
  references.set(program, reports)
  const key = JSON.stringify(plan)
  const report = reports.get(key) ?? playTwice(plan, program && { program })
  reports.set(key, report)
  return report
}

async function playTwice(plan: Plan, options: Pick<ScheduleOptions, 'program'> = {}): Promise<Report> {
  const first = await playSchedule(plan, options)
  const { record } = first
  expect(first.violations).toEqual([])
  expect((await playSchedule(plan, { ...options, undisturbed: record })).violations, 'the same again').toEqual([])
  return first
}

/** Plays plans one after the other. The first that fails is played again with a trace, which the error shows. */
export async function playPlans(
  plans: Iterable<Plan>,
  options: ScheduleOptions,
  replayCommand: (plan: Plan) => string,
): Promise<void> {
  for (const plan of plans) {
    const { violations } = await playSchedule(plan, options)
    const { seed, faults } = plan
    const deaths = faults.filter(([, fault]) => fault.startsWith('death')).length
    reportPlayed({ schedules: 1, faults: faults.length, deaths })
    if (violations.length === 0) continue
    reportFailed({ seed, again: replayCommand(plan) })
    const { trace } = await playSchedule(plan, { ...options, isTraced: true })
    const end = trace.slice(-SHOWN_STEPS).join('\n')
    const description = `seed ${seed}, ${faults.map(fault => fault.join(' ')).join(', ')}; to run it again: ${replayCommand(plan)}`
    expect(violations, `${description}\n${end}\n`).toEqual([])
  }
}
