import { expect, test } from 'vitest'
import { Clock } from '../drive/clock.fixture.ts'
import { sleep } from './sleep.ts'

test('resolves after its time, rejects with the reason of the signal, and leaves no timer', async () => {
  const clock = new Clock()
  const timers = clock.timers()
  const controller = new AbortController()
  const whole = sleep(timers, 50, controller.signal)
  await clock.advance(50)
  await whole
  const aborted = sleep(timers, 50, controller.signal)
  const reason = new Error('stopped')
  controller.abort(reason)
  await expect(aborted).rejects.toBe(reason)
  expect(clock.pendingTimers.size).toBe(0)
  await expect(sleep(timers, 50, controller.signal)).rejects.toBe(reason)
  expect(clock.pendingTimers.size).toBe(0)
})
