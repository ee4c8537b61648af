import { expect, test } from 'vitest'
import { Clock } from '../drive/clock.fixture.ts'
import { MillraceError, ProviderError } from '../error/error.ts'
import { backoffOf, DEFAULT_BACKOFF, sleep } from './retry.ts'

const failed = (retryAfterMs?: number) => new ProviderError('provider_overloaded', 'x', { retryAfterMs })
const BACKOFF = { first: 100, longest: 1000 }

test('the time before the next attempt doubles, up to the longest', () => {
  expect([1, 2, 3, 4, 5, 9].map(attempt => backoffOf(BACKOFF, attempt, failed()))).toEqual([
    100, 200, 400, 800, 1000, 1000,
  ])
  expect(backoffOf(BACKOFF, 2, new MillraceError('output_invalid', 'x'))).toBe(200)
  expect(backoffOf(DEFAULT_BACKOFF, 1, failed())).toBe(1000)
})

test('a provider that asks to wait is waited for, but no longer than the longest', () => {
  expect(backoffOf(BACKOFF, 3, failed(250))).toBe(250)
  expect(backoffOf(BACKOFF, 1, failed(0))).toBe(0)
  expect(backoffOf(BACKOFF, 1, failed(86_400_000))).toBe(1000)
})

test('waiting ends with its time, or with the signal, and leaves nothing behind', async () => {
  const clock = new Clock()
  const timers = clock.timers()
  const controller = new AbortController()
  const whole = sleep(timers, 50, controller.signal)
  await clock.advance(50)
  await whole
  const cut = sleep(timers, 50, controller.signal)
  const reason = new Error('stopped')
  controller.abort(reason)
  await expect(cut).rejects.toBe(reason)
  expect(clock.alarms.size).toBe(0)
  await expect(sleep(timers, 50, controller.signal)).rejects.toBe(reason)
  expect(clock.alarms.size).toBe(0)
})
