import { expect, test } from 'vitest'
import { MillraceError, ProviderError } from '../error/error.ts'
import { DEFAULT_BACKOFF, retryDelayMs } from './backoff.ts'

const failed = (retryAfterMs?: number) => new ProviderError('provider_overloaded', 'x', { retryAfterMs })
const BACKOFF = { firstMs: 100, longestMs: 1000 }

test('doubles the delay with each attempt, up to the longest', () => {
  expect([1, 2, 3, 4, 5, 9].map(attempt => retryDelayMs(BACKOFF, attempt, failed()))).toEqual([
    100, 200, 400, 800, 1000, 1000,
  ])
  expect(retryDelayMs(BACKOFF, 2, new MillraceError('output_invalid', 'x'))).toBe(200)
  expect(retryDelayMs(DEFAULT_BACKOFF, 1, failed())).toBe(1000)
})

test('waits as long as the provider asks, up to the longest', () => {
  expect(retryDelayMs(BACKOFF, 3, failed(250))).toBe(250)
  expect(retryDelayMs(BACKOFF, 1, failed(0))).toBe(0)
  expect(retryDelayMs(BACKOFF, 1, failed(86_400_000))).toBe(1000)
})
