import { expect, test } from 'vitest'
import { runWithTimeout } from './run-with-timeout.ts'

test('returns the value of work in time, and passes its errors on', () => {
  expect(runWithTimeout(1000, () => 7)).toEqual({ value: 7, cpuMs: expect.any(Number) })
  const error = new Error('no')
  expect(() =>
    runWithTimeout(1000, () => {
      throw error
    }),
  ).toThrow(error)
})

test('aborts work that uses the CPU for longer', () => {
  const { cpuMs, ...result } = runWithTimeout(20, () => {
    for (;;);
  })
  expect(result).toEqual({})
  expect(cpuMs).toBeGreaterThanOrEqual(10)
})

test('gives work more time that got no CPU, as on a busy machine', () => {
  const flag = new Int32Array(new SharedArrayBuffer(4))
  let tries = 0
  const work = () => {
    tries++
    // Waits without the CPU in the first two tries.
    for (const until = performance.now() + 200; tries < 3 && performance.now() < until; ) Atomics.wait(flag, 0, 0, 5)
    return tries
  }
  expect(runWithTimeout(50, work)).toMatchObject({ value: 3 })
})
