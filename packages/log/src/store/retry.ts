import { LogError } from './log-error.ts'
import { type Timers, wait } from './timers.ts'

const FIRST_RETRY_MS = 20
const LAST_RETRY_MS = 1000

/** Calls a store, and calls it again while it is unavailable. */
export type StoreCall = <T>(call: () => Promise<T>) => Promise<T>

/**
 * Calls until the store answers, with exponential backoff. Retries only `unavailable`; rethrows every other error at
 * once, and `unavailable` once the next retry would begin after `timeoutMs`.
 */
export async function retryWhileUnavailable<T>(timers: Timers, timeoutMs: number, call: () => Promise<T>): Promise<T> {
  const deadline = timers.now() + timeoutMs
  for (let delay = FIRST_RETRY_MS; ; delay = Math.min(delay * 2, LAST_RETRY_MS)) {
    try {
      return await call()
    } catch (error) {
      const isUnavailable = error instanceof LogError && error.code === 'unavailable'
      if (!isUnavailable || timers.now() + delay > deadline) throw error
      await wait(timers, delay)
    }
  }
}
