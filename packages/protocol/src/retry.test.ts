import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { RetryDelay, reconnecting, retry } from './retry.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

const FAST = { firstMs: 100, longestMs: 10_000 }

const LONGER_THAN_ANY_DELAY_MS = 20_000

/** How long one wait lasts, in ms of virtual time. */
async function waited(delay: RetryDelay, minDelayMs?: number): Promise<number> {
  const from = performance.now()
  const waiting = delay.wait(minDelayMs).then(() => performance.now() - from)
  await vi.advanceTimersByTimeAsync(LONGER_THAN_ANY_DELAY_MS)
  return waiting
}

describe('the delay of a retry', () => {
  test('doubles up to the longest, and starts over after progress', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(1)
    const delay = new RetryDelay({ firstMs: 10, longestMs: 60 })
    const all = []
    for (let n = 0; n < 5; n++) all.push(await waited(delay))
    expect(all).toEqual([10, 20, 40, 60, 60])
    delay.progressed()
    expect(await waited(delay)).toBe(10)
  })

  test('has its default where an option is undefined', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(1)
    const options: object = { firstMs: undefined, longestMs: undefined }
    const delay = new RetryDelay(options)
    const all = []
    for (let n = 0; n < 7; n++) all.push(await waited(delay))
    expect(all).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 10_000])
  })

  test('is random, between half of the delay and the full delay', async () => {
    const random = vi.spyOn(Math, 'random').mockReturnValue(0)
    expect(await waited(new RetryDelay({ firstMs: 100, longestMs: 100 }))).toBe(50)
    random.mockReturnValue(0.5)
    expect(await waited(new RetryDelay({ firstMs: 100, longestMs: 100 }))).toBe(75)
  })

  test('is at least as long as the server asks for', async () => {
    expect(await waited(new RetryDelay({ firstMs: 1, longestMs: 1 }), 500)).toBe(500)
  })

  test('ends when woken, cancelled or replaced by another wait', async () => {
    const delay = new RetryDelay({ firstMs: 1_000, longestMs: 1_000 })
    delay.wake()
    const first = delay.wait()
    const second = delay.wait()
    expect(await first).toBe(false)
    delay.wake()
    expect(await second).toBe(true)
    const third = delay.wait()
    delay.cancel()
    expect(await third).toBe(false)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('ends on abort and leaves no listener at the signal', async () => {
    const delay = new RetryDelay(FAST)
    const control = new AbortController()
    const removed = vi.spyOn(control.signal, 'removeEventListener')
    const waiting = delay.wait(0, control.signal)
    control.abort()
    expect(await waiting).toBe(false)
    expect(await delay.wait(0, control.signal)).toBe(false)
    expect(removed).toHaveBeenCalledTimes(1)
    expect(vi.getTimerCount()).toBe(0)
  })
})

/** Counts the attempts in a period of virtual time. Each attempt lasts `lastsMs` and then calls `after`. */
async function attemptsIn(ms: number, delay: RetryDelay, { lastsMs = 0, after = () => {} } = {}): Promise<number> {
  let count = 0
  const end = Date.now() + ms
  const run = async () => {
    while (await delay.wait()) {
      if (Date.now() > end) return
      count++
      after()
      if (lastsMs > 0) await new Promise(resolve => setTimeout(resolve, lastsMs))
    }
  }
  const running = run()
  await vi.advanceTimersByTimeAsync(ms + 60_000)
  await running
  return count
}

describe('RetryDelay', () => {
  test('ends attempts without progress at the limit, after growing delays', async () => {
    const waits: number[] = []
    let last = Date.now()
    const after = () => {
      waits.push(Date.now() - last)
      last = Date.now()
    }
    const delay = new RetryDelay({ attempts: 5, firstMs: 100, longestMs: 800, stableMs: 5_000 })
    expect(await attemptsIn(600_000, delay, { after })).toBe(5)
    for (const [i, max] of [100, 200, 400, 800, 800].entries()) {
      expect(waits[i]).toBeGreaterThanOrEqual(max / 2)
      expect(waits[i]).toBeLessThanOrEqual(max)
    }
  })

  test('delays connections that make progress and drop at once, without a limit', async () => {
    const delay = new RetryDelay({ ...FAST, attempts: 2, stableMs: 5_000 })
    const count = await attemptsIn(60_000, delay, { after: () => delay.progressed() })
    // At most one every 400 ms, after the first.
    expect(count).toBeLessThan(155)
    expect(count).toBeGreaterThan(60)
  })

  test('waits only the first delay after a stable connection', async () => {
    const delay = new RetryDelay({ ...FAST, attempts: 8, stableMs: 5_000 })
    const gaps: number[] = []
    let left = Date.now()
    const after = () => {
      gaps.push(Date.now() - left)
      left = Date.now() + 6_000
      delay.progressed()
    }
    await attemptsIn(60_000, delay, { lastsMs: 6_000, after })
    expect(gaps.length).toBeGreaterThan(8)
    expect(Math.max(...gaps)).toBeLessThanOrEqual(100)
  })
})

describe('retry', () => {
  test('repeats until an attempt succeeds', async () => {
    let count = 0
    const done = retry(
      async () => {
        if (++count < 3) throw new Error('not yet')
        return count
      },
      new RetryDelay(FAST),
      () => 0,
    )
    await vi.runAllTimersAsync()
    expect(await done).toBe(3)
  })

  test.each<[string, object, number | false, number]>([
    ['an error that no retry can mend', {}, false, 1],
    ['the last attempt', { attempts: 2 }, 0, 3],
  ])('throws after %s', async (_, options, minDelayMs, attempts) => {
    let count = 0
    const failing = async (): Promise<void> => {
      throw new Error(`failure ${++count}`)
    }
    const done = expect(retry(failing, new RetryDelay({ ...FAST, ...options }), () => minDelayMs)).rejects.toThrow(
      `failure ${attempts}`,
    )
    await vi.runAllTimersAsync()
    await done
  })
})

describe('reconnecting', () => {
  /** Connections that yield one number each and then end as `script` says. */
  function connections(...ends: readonly (boolean | Error)[]) {
    let count = 0
    return async function* () {
      const end = ends[count] ?? false
      yield ++count
      if (end instanceof Error) throw end
      return end
    }
  }

  async function collect(stream: AsyncIterable<number>) {
    const values: number[] = []
    const end = (async () => {
      for await (const value of stream) values.push(value)
      return 'complete'
    })().catch((error: Error) => error.message)
    await vi.runAllTimersAsync()
    return { values, end: await end }
  }

  const isFinal = (error: unknown) => (error as Error).message === 'final'
  const lost = (error: unknown) => new Error(`lost: ${(error as Error | undefined)?.message}`)

  test('reads one connection after another until the stream is complete', async () => {
    const stream = reconnecting(connections(false, new Error('reset'), true), new RetryDelay(FAST), isFinal, lost)
    expect(await collect(stream)).toEqual({ values: [1, 2, 3], end: 'complete' })
  })

  test.each([
    ['a final error', [false, new Error('final')], { values: [1, 2], end: 'final' }],
    ['the last attempt, with its error', [false, false, new Error('reset')], { values: [1, 2, 3], end: 'lost: reset' }],
    ['the last attempt', [false, new Error('reset'), false], { values: [1, 2, 3], end: 'lost: undefined' }],
  ])('throws after %s', async (_, ends, expected) => {
    const delay = new RetryDelay({ ...FAST, attempts: 2 })
    expect(await collect(reconnecting(connections(...ends), delay, isFinal, lost))).toEqual(expected)
  })

  test('throws the reason of an abort', async () => {
    const control = new AbortController()
    const stream = reconnecting(connections(), new RetryDelay(FAST), isFinal, lost, control.signal)
    expect(await stream.next()).toEqual({ done: false, value: 1 })
    const next = expect(stream.next()).rejects.toThrow('left')
    control.abort(new Error('left'))
    await next
    expect(vi.getTimerCount()).toBe(0)
  })
})
