import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Patience } from './patience.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

/** How long it waits, where nobody wakes it. */
async function waited(patience: Patience, atLeast?: number): Promise<number> {
  const from = performance.now()
  const waiting = patience.wait(atLeast).then(() => performance.now() - from)
  await vi.runAllTimersAsync()
  return waiting
}

test('waits twice as long each time, up to a bound, and from the beginning when something came of it', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(1)
  const patience = new Patience({ first: 10, longest: 60 })
  const all = []
  for (let n = 0; n < 5; n++) all.push(await waited(patience))
  expect(all).toEqual([10, 20, 40, 60, 60])
  patience.reset()
  expect(await waited(patience)).toBe(10)
})

test('waits by chance, at least half of it', async () => {
  const chance = vi.spyOn(Math, 'random').mockReturnValue(0)
  expect(await waited(new Patience({ first: 100, longest: 100 }))).toBe(50)
  chance.mockReturnValue(0.5)
  expect(await waited(new Patience({ first: 100, longest: 100 }))).toBe(75)
})

test('waits at least as long as it is told', async () => {
  expect(await waited(new Patience({ first: 1, longest: 1 }), 500)).toBe(500)
})

test('is woken, and who waits anew ends the wait before', async () => {
  const patience = new Patience({ first: 1_000, longest: 1_000 })
  patience.wake()
  const first = patience.wait()
  const second = patience.wait()
  await first
  patience.wake()
  await second
  expect(vi.getTimerCount()).toBe(0)
})
