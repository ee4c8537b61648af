import type { Timers } from 'millrace'
import { afterEach, expect, test, vi } from 'vitest'
import { pacedModel } from './pace.ts'

afterEach(() => vi.unstubAllEnvs())

/** A clock with late timers, as on real machines. */
function lateClock(lateMs: number): Timers & { alarms: number } {
  let now = 0
  return {
    alarms: 0,
    now: () => now,
    after(ms, call) {
      this.alarms += 1
      now += ms + lateMs
      queueMicrotask(call)
      return () => {}
    },
  }
}

async function timeOf(
  words: number,
  pace: string,
  lateMs = 1.7,
): Promise<{ ms: number; alarms: number; text: string }> {
  vi.stubEnv('DEMO_PACE', pace)
  const timers = lateClock(lateMs)
  const model = pacedModel([{ text: 'word '.repeat(words).trim() }], 200, timers)
  const { stream } = await model.doStream({ prompt: [] })
  let text = ''
  for await (const part of stream) if (part.type === 'text-delta') text += part.delta
  return { ms: timers.now(), alarms: timers.alarms, text }
}

test('keeps the number of words per second with late timers', async () => {
  const { ms, text } = await timeOf(1000, '1')
  expect(text).toBe('word '.repeat(1000).trim())
  expect(ms).toBeGreaterThanOrEqual(5000)
  expect(ms).toBeLessThan(5002)
})

test('catches up after a very late timer', async () => {
  expect((await timeOf(1000, '1', 12)).ms).toBeLessThan(5013)
})

test('follows DEMO_PACE and does not wait at 0', async () => {
  expect((await timeOf(100, '2')).ms).toBeCloseTo(1001.7)
  expect(await timeOf(100, '0')).toMatchObject({ ms: 0, alarms: 0 })
})
