import { expect } from 'vitest'
import type { Plan } from './plan.fixture.ts'
import { race } from './race.fixture.ts'

const SHOWN_STEPS = 150

/** Runs plans one after the other; the first that fails is run again, and told step by step. */
export async function pass(plans: Iterable<Plan>): Promise<void> {
  for (const plan of plans) {
    const { violations } = await race(plan)
    if (violations.length === 0) continue
    const { trace } = await race(plan, { isTraced: true })
    const again = `npm run chaos -- --runs 1 --seed ${plan.seed} packages/runtime/src/races/races`
    const told = `${JSON.stringify(plan)}; to run it again: ${again}`
    expect(violations, `${told}\n${trace.slice(-SHOWN_STEPS).join('\n')}\n`).toEqual([])
  }
}
