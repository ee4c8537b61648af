import { ValidationError } from '../error/error.ts'

/** How far a run may go. */
export interface Budget {
  /** Model calls that were kept. */
  readonly steps: number
  /** Tokens in and out, those of discarded attempts too, as far as providers tell. */
  readonly tokens: number
  /** Milliseconds since the run started, by the store's clock. */
  readonly time: number
}

/** How far a run may go, if nothing is said. */
export const DEFAULT_BUDGET: Budget = { steps: 50, tokens: 2_000_000, time: 3_600_000 }

/** A budget, with defaults for what is not said; `Infinity` is no bound. `owner` is whose it is, in words. */
export function budgetOf(owner: string, given: Partial<Budget>): Budget {
  for (const [what, value] of Object.entries(given)) {
    if (!Object.hasOwn(DEFAULT_BUDGET, what)) {
      throw new ValidationError(`${owner}: budget: expected steps, tokens and time, found ${what}`)
    }
    if (typeof value === 'number' && value > 0) continue
    throw new ValidationError(`${owner}: budget: ${what}: expected a number above 0, found ${value}`)
  }
  return { ...DEFAULT_BUDGET, ...given }
}
