import type { Timers } from '@millrace/log'
import { type MillraceError, ProviderError } from '../error/error.ts'

/** How long a failed model call waits before it is tried again, in milliseconds. */
export interface Backoff {
  readonly first: number
  readonly longest: number
}

export const DEFAULT_BACKOFF: Backoff = { first: 1000, longest: 60_000 }

/** The time before the next attempt: doubled each time, or as long as the provider asks; never longer than the longest. */
export function backoffOf({ first, longest }: Backoff, attempt: number, error: MillraceError): number {
  const asked = error instanceof ProviderError ? error.retryAfterMs : undefined
  return Math.min(asked ?? first * 2 ** (attempt - 1), longest)
}

/** Waits, unless the signal is aborted first, whose reason is thrown. */
export function sleep(timers: Timers, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason)
    const abort = () => {
      cancel()
      reject(signal.reason)
    }
    const cancel = timers.after(ms, () => {
      signal.removeEventListener('abort', abort)
      resolve()
    })
    signal.addEventListener('abort', abort, { once: true })
  })
}
