import { expect } from 'vitest'
import { type Plan, UNDISTURBED } from './plan.fixture.ts'
import { type Report, type ScheduleOptions, schedule } from './schedule.fixture.ts'

const SHOWN_STEPS = 150

/** The program without any fault, which everything is compared with. */
export async function undisturbed(
  plan: Plan = UNDISTURBED,
  options: Pick<ScheduleOptions, 'program'> = {},
): Promise<Report> {
  const first = await schedule(plan, options)
  const { happened } = first
  expect(first.violations).toEqual([])
  expect((await schedule(plan, { ...options, undisturbed: happened })).violations, 'the same again').toEqual([])
  return first
}

/** Runs plans one after the other; the first that fails is run again, and told step by step. */
export async function pass(
  plans: Iterable<Plan>,
  options: ScheduleOptions,
  again: (plan: Plan) => string,
): Promise<void> {
  for (const plan of plans) {
    const { violations } = await schedule(plan, options)
    if (violations.length === 0) continue
    const { trace } = await schedule(plan, { ...options, isTraced: true })
    const { seed, faults } = plan
    const end = trace.slice(-SHOWN_STEPS).join('\n')
    const told = `seed ${seed}, ${faults.map(fault => fault.join(' ')).join(', ')}; to run it again: ${again(plan)}`
    expect(violations, `${told}\n${end}\n`).toEqual([])
  }
}
