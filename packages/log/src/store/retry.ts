import { type Backoff, backoffMs } from '@millrace/protocol/retry'
import { LogError } from './log-error.ts'
import { type Timers, wait } from './timers.ts'

const BACKOFF: Backoff = { firstMs: 20, longestMs: 1000 }

/** Calls a store, and calls it again while it is unavailable. */
export type StoreCall = <T>(call: () => Promise<T>) => Promise<T>

/**
 * Calls until the store answers, with exponential backoff. Retries only `unavailable`; rethrows every other error at
 * once, and `unavailable` once the next retry would begin after `timeoutMs`.
 */
export async function retryWhileUnavailable<T>(timers: Timers, timeoutMs: number, call: () => Promise<T>): Promise<T> {
  const deadline = timers.now() + timeoutMs
  for (let retries = 0; ; retries++) {
    try {
      return await call()
    } catch (error) {
      const isUnavailable = error instanceof LogError && error.code === 'unavailable'
      const delay = backoffMs(BACKOFF, retries)
      if (!isUnavailable || timers.now() + delay > deadline) throw error
      await wait(timers, delay)
    }
  }
}
