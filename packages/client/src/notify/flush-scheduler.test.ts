import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { FLUSH_MS, FlushScheduler } from './flush-scheduler.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

/** Stubs a page with a frame every `frameMs`, and none while it is hidden. */
function stubPage(frameMs: number) {
  const page = { hidden: false, frames: [] as number[], waiting: [] as FrameRequestCallback[] }
  vi.stubGlobal('document', page)
  vi.stubGlobal('requestAnimationFrame', (run: FrameRequestCallback) => page.waiting.push(run))
  setInterval(() => {
    if (page.hidden) return
    const now = performance.now()
    page.frames.push(now)
    for (const run of page.waiting.splice(0)) run(now)
  }, frameMs)
  return page
}

/** Schedules a change at each of these times. Returns the times of the flushes, and for each change the time of its flush. */
function scheduleAt(
  at: readonly number[],
  create: (onFlush: () => void) => FlushScheduler,
): { flushes: number[]; flushedAt: number[] } {
  const since = performance.now()
  const flushes: number[] = []
  const flushedAt: number[] = []
  let scheduled = 0
  const scheduler = create(() => {
    const now = performance.now() - since
    flushes.push(now)
    while (flushedAt.length < scheduled) flushedAt.push(now)
  })
  for (const ms of at) {
    vi.advanceTimersByTime(ms + since - performance.now())
    scheduled++
    scheduler.schedule()
  }
  vi.advanceTimersByTime(1_000)
  return { flushes, flushedAt }
}

const byDefault = (onFlush: () => void) => new FlushScheduler(FLUSH_MS, onFlush)
const times = (count: number, at: (n: number) => number) => Array.from({ length: count }, (_, n) => at(n))

describe('on a visible page', () => {
  test('flushes a change once per interval at once, although it is early or late', () => {
    stubPage(17)
    const at = times(100, n => n * FLUSH_MS + ((n * 7) % 15))
    expect(scheduleAt(at, byDefault).flushedAt).toEqual(at)
  })

  test.each([
    ['60', 17],
    ['120', 8],
    ['240', 4],
  ])('flushes a continuous source once per interval at %s frames per second', (_, frameMs) => {
    stubPage(frameMs)
    const { flushes } = scheduleAt(
      times(1_000, n => n),
      byDefault,
    )
    // Two early flushes, the first one, and the last one after the end.
    const maxFlushes = 1_000 / FLUSH_MS + 4
    expect(flushes.length).toBeLessThanOrEqual(maxFlushes)
    expect(flushes.length).toBeGreaterThan(maxFlushes - 8)
  })

  test('flushes delayed changes when the next frame begins', () => {
    const page = stubPage(17)
    const at = times(500, n => n * 2)
    const since = performance.now()
    const { flushedAt } = scheduleAt(at, byDefault)
    const late = at.filter((ms, i) => {
      const next = page.frames.find(frame => frame - since > ms)
      return (flushedAt[i] as number) > (next as number) - since
    })
    expect(late).toEqual([])
  })

  test('keeps an interval that is longer than a frame', () => {
    stubPage(17)
    const { flushes } = scheduleAt(
      times(100, n => n * 10),
      onFlush => new FlushScheduler(100, onFlush),
    )
    expect(flushes).toEqual(times(11, n => n * 100))
  })
})

test('flushes by the timer in a visible document without animation frames', () => {
  vi.stubGlobal('document', { hidden: false })
  vi.stubGlobal('requestAnimationFrame', undefined)
  const at = times(500, n => n)
  const { flushes, flushedAt } = scheduleAt(at, byDefault)
  expect(flushes.length).toBeLessThanOrEqual(at.length / FLUSH_MS + 4)
  expect(flushedAt).toHaveLength(at.length)
  // A change that was early once is flushed within the next interval.
  for (const [i, ms] of at.entries()) expect((flushedAt[i] as number) - ms).toBeLessThanOrEqual(2 * FLUSH_MS)
})

test('flushes delayed changes of a page that was hidden meanwhile, and uses timers from then on', () => {
  const page = stubPage(17)
  const flushes: number[] = []
  const since = performance.now()
  const scheduler = byDefault(() => flushes.push(performance.now() - since))
  for (let n = 0; n < 3; n++) scheduler.schedule()
  expect([flushes, page.waiting.length]).toEqual([[0, 0], 1])
  page.hidden = true
  vi.advanceTimersByTime(100)
  expect(flushes).toEqual([0, 0, 32])
  for (let n = 0; n < 3; n++) scheduler.schedule()
  expect(flushes).toEqual([0, 0, 32, 100])
  vi.advanceTimersByTime(16)
  expect(flushes).toEqual([0, 0, 32, 100, 116])
  // When the page is visible again, the frame callback of back then finds nothing to flush.
  page.hidden = false
  vi.advanceTimersByTime(100)
  expect([flushes.length, page.waiting.length]).toEqual([5, 0])
})
