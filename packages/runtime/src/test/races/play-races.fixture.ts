import { expect } from 'vitest'
import { reportFailed, reportPlayed } from '../../../../../scripts/faults/campaign.ts'
import { race } from './race.fixture.ts'
import type { Plan } from './race-plan.fixture.ts'

/** How many of the last steps a failure shows. */
const SHOWN_STEPS = 150

/** Plays plans one after the other. The first that fails is played again with a trace, which the error shows. */
export async function playPlans(plans: Iterable<Plan>): Promise<void> {
  for (const plan of plans) {
    const { violations } = await race(plan)
    const deaths = plan.faults.filter(([, fault]) => fault.startsWith('death')).length
    reportPlayed({ faults: plan.faults.length, deaths })
    if (violations.length === 0) continue
    const replayCommand = `npm run chaos -- --runs 1 --seed ${plan.seed} packages/runtime/src/test/races/races`
    reportFailed({ seed: plan.seed, again: replayCommand })
    const { trace } = await race(plan, { isTraced: true })
    const description = `${JSON.stringify(plan)}; to run it again: ${replayCommand}`
    expect(violations, `${description}\n${trace.slice(-SHOWN_STEPS).join('\n')}\n`).toEqual([])
  }
}
