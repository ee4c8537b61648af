import { expect, test } from 'vitest'
import { Clock } from './clock.fixture.ts'
import { engineSuite } from './engine.fixture.ts'
import { type EngineDriver, FIRST_BACKOFF_MS, inProcessEngine, MAX_BACKOFF_MS, POLL_MS } from './engine.ts'

engineSuite('the engine in this process', options => inProcessEngine({ pollMs: 10, ...options }))

/** An engine driver with defaults. */
const driving = (overrides: Partial<EngineDriver> = {}): EngineDriver => ({
  due: async () => [],
  drive: async () => {},
  handOver() {},
  abandon() {},
  ...overrides,
})

test('polls four times a second, also while the store is unavailable', async () => {
  const clock = new Clock()
  let looks = 0
  const engine = inProcessEngine({ timers: clock.timers() })
  engine.start(
    driving({
      async due() {
        if (++looks % 2 === 0) throw new Error('the store is unreachable')
        return []
      },
    }),
  )
  await clock.advance(10 * POLL_MS)
  expect(POLL_MS).toBe(250)
  expect(looks).toBe(11)
  await engine.stop()
})

test('doubles the backoff of a failing session up to a maximum, and resets it after a success', async () => {
  const clock = new Clock()
  const at: number[] = []
  let isBroken = true
  const engine = inProcessEngine({ timers: clock.timers() })
  engine.start(
    driving({
      due: async () => ['s'],
      async drive() {
        if (!isBroken) at.length = 0
        at.push(clock.now())
        if (isBroken) throw new Error('broken')
        isBroken = true
      },
    }),
  )
  for (let n = 0; n < 300; n++) {
    engine.wake('s')
    await clock.advance(1000)
  }
  const rests = () => at.slice(1).map((time, index) => time - (at[index] as number))
  expect(rests().slice(0, 8)).toEqual([1, 2, 4, 8, 16, 32, 60, 60].map(times => times * FIRST_BACKOFF_MS))
  expect(Math.max(...rests())).toBe(MAX_BACKOFF_MS)
  isBroken = false
  await clock.advance(MAX_BACKOFF_MS + 5 * FIRST_BACKOFF_MS)
  // It is driven again at once after a success, and then the backoff starts again.
  expect(rests()[0]).toBeLessThanOrEqual(POLL_MS)
  expect(rests().slice(1, 3)).toEqual([FIRST_BACKOFF_MS, 2 * FIRST_BACKOFF_MS])
  await engine.stop()
})

test('passes keepsAlive to all its timers', async () => {
  for (const keepsAlive of [false, true]) {
    const clock = new Clock()
    const timers = clock.timers()
    const engine = inProcessEngine({ timers, keepsAlive })
    engine.start(
      driving({
        due: async () => ['s'],
        async drive() {
          throw new Error('broken')
        },
      }),
    )
    await clock.advance(100)
    expect(timers.pendingTimers.map(({ isIdle }) => isIdle)).toEqual([!keepsAlive, !keepsAlive])
    await engine.stop()
    expect(timers.pendingTimers).toEqual([])
  }
})

test('aborts after the grace period, and leaves no timer', async () => {
  const clock = new Clock()
  const timers = clock.timers()
  const engine = inProcessEngine({ timers, graceMs: 4000 })
  const driven = Promise.withResolvers<void>()
  const warnings: string[] = []
  engine.start(
    driving({
      due: async () => ['s'],
      drive: () => driven.promise,
      handOver: () => warnings.push('leave'),
      abandon() {
        warnings.push('abandon')
        driven.resolve()
      },
    }),
  )
  await clock.advance(100)
  const from = clock.now()
  await clock.until(engine.stop())
  expect([warnings, clock.now() - from]).toEqual([['leave', 'abandon'], 4000])
  expect(timers.pendingTimers).toEqual([])
})

test.each([
  ['pollMs', 0],
  ['pollMs', 0.5],
  ['concurrency', 0],
  ['concurrency', Number.NaN],
  ['graceMs', -1],
  ['graceMs', Number.POSITIVE_INFINITY],
])('refuses %s of %s', (name, value) => {
  expect(() => inProcessEngine({ [name]: value })).toThrow(`engine: ${name}: expected a whole number`)
})
