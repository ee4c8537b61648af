import { ValidationError } from '../error/error.ts'

/** Limits of a run. `Infinity` means no limit. */
export interface Budget {
  /** Maximum number of committed model calls. @default 50 */
  readonly steps: number
  /**
   * Maximum number of input and output tokens, including discarded attempts, as reported by providers. While an answer
   * streams, its output is estimated: one token for each 4 bytes of text, reasoning and tool input.
   * @default 2_000_000
   */
  readonly tokens: number
  /**
   * Maximum size of the answers of all models in the log, in bytes, including discarded attempts. While an answer
   * streams, it counts as for `ModelLimits.answerBytes`.
   * @default 268_435_456
   */
  readonly bytes: number
  /** Maximum time since the run started, in ms, by the store's clock. @default 3_600_000 */
  readonly timeMs: number
}

export const DEFAULT_BUDGET: Budget = { steps: 50, tokens: 2_000_000, bytes: 256 * 1024 * 1024, timeMs: 3_600_000 }

/**
 * Adds the defaults to a budget. `Infinity` means no limit. `owner` names the program in error messages.
 * @throws {ValidationError} if a limit is unknown or not above 0.
 */
export function budgetOf(owner: string, limits: Partial<Budget>): Budget {
  for (const [limit, value] of Object.entries(limits)) {
    if (!Object.hasOwn(DEFAULT_BUDGET, limit)) {
      throw new ValidationError(`${owner}: budget: expected steps, tokens, bytes and timeMs, found ${limit}`)
    }
    if (typeof value === 'number' && value > 0) continue
    throw new ValidationError(`${owner}: budget: ${limit}: expected a number above 0, found ${value}`)
  }
  return { ...DEFAULT_BUDGET, ...limits }
}
