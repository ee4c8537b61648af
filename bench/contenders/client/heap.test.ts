import { expect, test } from 'vitest'
import { Clock } from './clock.ts'
import { allocated } from './heap.ts'

test('counts allocated bytes, collected or retained', async () => {
  const count = 400_000
  const retained: object[] = []
  const { bytes } = await allocated(async () => {
    for (let i = 0; i < count; i++) {
      const object = { a: i, b: i, c: i }
      if (i % 100 === 0) retained.push(object)
    }
  })
  // At least the shape, two empty backing stores and three fields of an object.
  expect(bytes / count).toBeGreaterThan(40)
  expect(bytes / count).toBeLessThan(120)
  expect(retained).toHaveLength(count / 100)
})

test('the fake clock fires due timers on advance and restores the real clock', async () => {
  const real = { setTimeout: globalThis.setTimeout, now: performance.now }
  const clock = new Clock()
  const fired: string[] = []
  await clock.during(() => {
    const since = performance.now()
    setTimeout(() => fired.push('late'), 20)
    clearTimeout(setTimeout(() => fired.push('never'), 5))
    setTimeout(() => fired.push('soon'), 10)
    clock.advance(16)
    expect(fired).toEqual(['soon'])
    expect(performance.now() - since).toBe(16)
    clock.advance(4)
  })
  expect(fired).toEqual(['soon', 'late'])
  expect(globalThis.setTimeout).toBe(real.setTimeout)
  expect(performance.now).toBe(real.now)
})
