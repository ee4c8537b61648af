import type { Timers } from '@millrace/log'
import { MillraceError } from '@millrace/runtime'

/** Timeout of the store in a health check, in ms. */
export const STORE_TIMEOUT_MS = 2_000

/** Resolves with the store's answer. @throws `store_unavailable` after `STORE_TIMEOUT_MS`, even if the store itself would retry longer. */
export async function withStoreTimeout<T>(answer: Promise<T>, timers: Timers): Promise<T> {
  const timeout = Promise.withResolvers<never>()
  const message = `the store did not answer within ${STORE_TIMEOUT_MS} ms: try again later`
  const cancel = timers.after(STORE_TIMEOUT_MS, () =>
    timeout.reject(new MillraceError('store_unavailable', message, { retryable: true })),
  )
  try {
    return await Promise.race([answer, timeout.promise])
  } finally {
    cancel()
  }
}
