import { expect, test } from 'vitest'
import { Arrivals, TICK_MS, TICKS } from './arrivals.ts'

test('counts entries per tick and drops old ticks', () => {
  const arrivals = new Arrivals()
  arrivals.add(3, 0)
  arrivals.add(2, TICK_MS - 1)
  arrivals.add(4, TICK_MS)
  expect(arrivals.bars(TICK_MS).slice(-2)).toEqual([5, 4])
  expect(arrivals.bars(TICK_MS * (TICKS - 1))[0]).toBe(5)
  expect(arrivals.bars(TICK_MS * TICKS)[0]).toBe(4)
  expect(arrivals.bars(TICK_MS * 2 * TICKS)).toEqual(new Array(TICKS).fill(0))
})

test('keeps a bounded number of ticks', () => {
  const arrivals = new Arrivals()
  for (let i = 0; i < 10_000; i++) arrivals.add(1, i * TICK_MS)
  const bars = arrivals.bars(9_999 * TICK_MS)
  expect(bars).toEqual(new Array(TICKS).fill(1))
})
