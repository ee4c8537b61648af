import { type Backoff, backoffMs } from '@millrace/protocol/retry'
import { type MillraceError, ProviderError } from '../error/error.ts'

/** Default delays between the attempts of a failed model call. */
export const DEFAULT_BACKOFF: Backoff = { firstMs: 1000, longestMs: 60_000 }

/** The delays of the options. Omitted and undefined ones have their defaults. */
export const backoffOf = ({
  firstMs = DEFAULT_BACKOFF.firstMs,
  longestMs = DEFAULT_BACKOFF.longestMs,
}: Partial<Backoff> = {}): Backoff => ({ firstMs, longestMs })

/** The delay before the next attempt, in ms: exponential, or `retry-after` of the provider; at most `longestMs`. */
export function retryDelayMs(backoff: Backoff, attempt: number, error: MillraceError): number {
  const retryAfterMs = error instanceof ProviderError ? error.retryAfterMs : undefined
  return retryAfterMs === undefined ? backoffMs(backoff, attempt - 1) : Math.min(retryAfterMs, backoff.longestMs)
}
