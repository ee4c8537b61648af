import type { Timers } from '@millrace/log'
import { MillraceError } from '@millrace/runtime'

/** How long whoever asks whether the server is well waits for its store, in milliseconds. */
export const STORE_TIMEOUT_MS = 2_000

/** What a store answers, if it does so soon; throws that it is out of reach otherwise, however patient others are. */
export async function withStoreTimeout<T>(asked: Promise<T>, timers: Timers): Promise<T> {
  const late = Promise.withResolvers<never>()
  const why = `the store did not answer within ${STORE_TIMEOUT_MS} ms: try again later`
  const cancel = timers.after(STORE_TIMEOUT_MS, () =>
    late.reject(new MillraceError('store_unavailable', why, { retryable: true })),
  )
  try {
    return await Promise.race([asked, late.promise])
  } finally {
    cancel()
  }
}
