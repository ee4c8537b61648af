import type { Timers } from 'millrace'
import { afterEach, expect, test, vi } from 'vitest'
import { pacedModel } from './pace.ts'

afterEach(() => vi.unstubAllEnvs())

/** A clock that rings every alarm late, as those of real machines do. */
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
): Promise<{ ms: number; alarms: number; said: string }> {
  vi.stubEnv('DEMO_PACE', pace)
  const timers = lateClock(lateMs)
  const model = pacedModel([{ text: 'word '.repeat(words).trim() }], 200, timers)
  const { stream } = await model.doStream({ prompt: [] })
  let said = ''
  for await (const part of stream) if (part.type === 'text-delta') said += part.delta
  return { ms: timers.now(), alarms: timers.alarms, said }
}

test('says as many words a second as it is told, though every alarm is late', async () => {
  const { ms, said } = await timeOf(1000, '1')
  expect(said).toBe('word '.repeat(1000).trim())
  expect(ms).toBeGreaterThanOrEqual(5000)
  expect(ms).toBeLessThan(5002)
})

test('catches up where an alarm is later than the next words', async () => {
  expect((await timeOf(1000, '1', 12)).ms).toBeLessThan(5013)
})

test('goes at the pace that is set, and waits for nothing at 0', async () => {
  expect((await timeOf(100, '2')).ms).toBeCloseTo(1001.7)
  expect(await timeOf(100, '0')).toMatchObject({ ms: 0, alarms: 0 })
})
