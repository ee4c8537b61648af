import fc from 'fast-check'
import { runs } from '../property-runs.fixture.ts'
import { clone } from './log.fixture.ts'
import type { View } from './view.ts'

/** Checks a property. `npm run chaos` multiplies the number of runs. */
export const check = <Ts extends [unknown, ...unknown[]]>(property: fc.IPropertyWithHooks<Ts>, n = 1000) =>
  fc.assert(property, { numRuns: runs(n) })

/** The visible view, without the inverses. */
export function visibleView(view: View) {
  const { drafts, head, ...rest } = clone(view)
  return rest
}

/** The view without the ledger, which a discard does not revert. */
export function content(view: View) {
  const { usage, runs: _, ...rest } = visibleView(view)
  return rest
}
