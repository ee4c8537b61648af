import type { Usage } from '@millrace/protocol'
import { BudgetError, ValidationError } from '../error/error.ts'

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

/** A budget, with defaults for what is not said; `Infinity` is no bound. */
export function budgetOf(name: string, given: Partial<Budget>): Budget {
  for (const [what, value] of Object.entries(given)) {
    if (!Object.hasOwn(DEFAULT_BUDGET, what)) {
      throw new ValidationError(`agent ${name}: budget: expected steps, tokens and time, found ${what}`)
    }
    if (typeof value === 'number' && value > 0) continue
    throw new ValidationError(`agent ${name}: budget: ${what}: expected a number above 0, found ${value}`)
  }
  return { ...DEFAULT_BUDGET, ...given }
}

/** Throws where the next step would go beyond a budget. */
export function checkBudget(
  { steps, tokens }: Budget,
  taken: number,
  { inputTokens = 0, outputTokens = 0 }: Usage,
): void {
  if (taken >= steps) {
    throw new BudgetError('budget_steps', `the run has taken ${taken} steps, and may take ${steps}`)
  }
  const used = inputTokens + outputTokens
  if (used >= tokens) {
    throw new BudgetError('budget_tokens', `the run has used ${used} tokens, and may use ${tokens}`)
  }
}
