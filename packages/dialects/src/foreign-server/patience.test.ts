import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Patience, Places } from './patience.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** How many attempts there are in a time, each of which lasts for a while and then does what is said. */
async function attemptsIn(ms: number, patience: Patience, { lasts = 0, does = () => {} } = {}): Promise<number> {
  let count = 0
  const end = Date.now() + ms
  const run = async () => {
    while (await patience.again()) {
      if (Date.now() > end) return
      count++
      does()
      if (lasts > 0) await new Promise(resolve => setTimeout(resolve, lasts))
    }
  }
  const running = run()
  await vi.advanceTimersByTimeAsync(ms + 60_000)
  await running
  return count
}

test('what brings nothing is given up after a few attempts, each later than the one before', async () => {
  const waited: number[] = []
  let last = Date.now()
  const does = () => {
    waited.push(Date.now() - last)
    last = Date.now()
  }
  expect(await attemptsIn(600_000, new Patience({ attempts: 5, first: 100, longest: 800 }), { does })).toBe(5)
  for (const [i, most] of [100, 200, 400, 800, 800].entries()) {
    expect(waited[i]).toBeGreaterThanOrEqual(most / 2)
    expect(waited[i]).toBeLessThanOrEqual(most)
  }
})

test('what brings something each time, and drops at once, is asked at intervals', async () => {
  const patience = new Patience({ attempts: 2 })
  const count = await attemptsIn(60_000, patience, { does: () => patience.progressed() })
  // No faster than every 400 ms, but for the first; and never given up.
  expect(count).toBeLessThan(155)
  expect(count).toBeGreaterThan(60)
})

test('a connection that lasted is taken up again as soon as the first was', async () => {
  const patience = new Patience({ first: 100 })
  const gaps: number[] = []
  let left = Date.now()
  const does = () => {
    gaps.push(Date.now() - left)
    left = Date.now() + 6_000
    patience.progressed()
  }
  await attemptsIn(60_000, patience, { lasts: 6_000, does })
  expect(gaps.length).toBeGreaterThan(8)
  expect(Math.max(...gaps)).toBeLessThanOrEqual(100)
})

test('who is woken tries at once, and who leaves does not', async () => {
  const patience = new Patience({ first: 5_000 })
  const woken = patience.again()
  patience.wake()
  expect(await woken).toBe(true)
  const leaving = new AbortController()
  const left = patience.again(leaving.signal)
  leaving.abort()
  expect(await left).toBe(false)
  expect(await patience.again(leaving.signal)).toBe(false)
})

test('a place is new once', () => {
  const places = new Places()
  expect(['a', 'b', 'a', 'c', 'b'].map(place => places.pass(place))).toEqual([true, true, false, true, false])
  expect(places.last).toBe('c')
})
