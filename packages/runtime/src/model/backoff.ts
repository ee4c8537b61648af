import { type MillraceError, ProviderError } from '../error/error.ts'

/** Delays between the attempts of a failed model call, in ms. */
export interface RetryBackoff {
  /** Delay before the second attempt, in ms. It doubles with each further attempt. @default 1000 */
  readonly first: number
  /** Longest delay, in ms, also where the provider asks for more. @default 60_000 */
  readonly longest: number
}

export const DEFAULT_BACKOFF: RetryBackoff = { first: 1000, longest: 60_000 }

/** The delay before the next attempt, in ms: exponential, or `retry-after` of the provider; at most `longest`. */
export function backoffMs({ first, longest }: RetryBackoff, attempt: number, error: MillraceError): number {
  const retryAfterMs = error instanceof ProviderError ? error.retryAfterMs : undefined
  return Math.min(retryAfterMs ?? first * 2 ** (attempt - 1), longest)
}
