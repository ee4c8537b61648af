import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { FLUSH_MS, FlushScheduler } from './flush-scheduler.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

/** A page on a screen that begins a frame every so many milliseconds; none, while it is hidden. */
function screen(everyMs: number) {
  const page = { hidden: false, frames: [] as number[], waiting: [] as FrameRequestCallback[] }
  vi.stubGlobal('document', page)
  vi.stubGlobal('requestAnimationFrame', (run: FrameRequestCallback) => page.waiting.push(run))
  setInterval(() => {
    if (page.hidden) return
    const now = performance.now()
    page.frames.push(now)
    for (const run of page.waiting.splice(0)) run(now)
  }, everyMs)
  return page
}

/** Notes something at these times, and says when each was told. */
function told(
  at: readonly number[],
  flush: (tell: () => void) => FlushScheduler,
): { tellings: number[]; toldAt: number[] } {
  const since = performance.now()
  const tellings: number[] = []
  const toldAt: number[] = []
  let noted = 0
  const gathering = flush(() => {
    const now = performance.now() - since
    tellings.push(now)
    while (toldAt.length < noted) toldAt.push(now)
  })
  for (const ms of at) {
    vi.advanceTimersByTime(ms + since - performance.now())
    noted++
    gathering.note()
  }
  vi.advanceTimersByTime(1_000)
  return { tellings, toldAt }
}

const byDefault = (tell: () => void) => new FlushScheduler(FLUSH_MS, tell)
const times = (count: number, at: (n: number) => number) => Array.from({ length: count }, (_, n) => at(n))

describe('on a page that is shown', () => {
  test('what comes once in an interval is told at once, though it is early or late', () => {
    screen(17)
    const at = times(100, n => n * FLUSH_MS + ((n * 7) % 15))
    expect(told(at, byDefault).toldAt).toEqual(at)
  })

  test.each([
    ['60', 17],
    ['120', 8],
    ['240', 4],
  ])('a source that never rests is told once in an interval, on a screen of %s frames a second', (_, everyMs) => {
    screen(everyMs)
    const { tellings } = told(
      times(1_000, n => n),
      byDefault,
    )
    // Two early ones, the one at the very beginning, and the rest after the end.
    const most = 1_000 / FLUSH_MS + 4
    expect(tellings.length).toBeLessThanOrEqual(most)
    expect(tellings.length).toBeGreaterThan(most - 8)
  })

  test('what waits is told as the next frame begins, and is in it', () => {
    const page = screen(17)
    const at = times(500, n => n * 2)
    const since = performance.now()
    const { toldAt } = told(at, byDefault)
    const late = at.filter((ms, i) => {
      const next = page.frames.find(frame => frame - since > ms)
      return (toldAt[i] as number) > (next as number) - since
    })
    expect(late).toEqual([])
  })

  test('a longer interval than that of frames is kept to', () => {
    screen(17)
    const { tellings } = told(
      times(100, n => n * 10),
      tell => new FlushScheduler(100, tell),
    )
    expect(tellings).toEqual(times(11, n => n * 100))
  })
})

test('a page that is left while something waits tells it all the same, and goes by the clock from there', () => {
  const page = screen(17)
  const tellings: number[] = []
  const since = performance.now()
  const flush = byDefault(() => tellings.push(performance.now() - since))
  for (let n = 0; n < 3; n++) flush.note()
  expect([tellings, page.waiting.length]).toEqual([[0, 0], 1])
  page.hidden = true
  vi.advanceTimersByTime(100)
  expect(tellings).toEqual([0, 0, 32])
  for (let n = 0; n < 3; n++) flush.note()
  expect(tellings).toEqual([0, 0, 32, 100])
  vi.advanceTimersByTime(16)
  expect(tellings).toEqual([0, 0, 32, 100, 116])
  // When it is shown again, what was asked for then finds nothing to tell.
  page.hidden = false
  vi.advanceTimersByTime(100)
  expect([tellings.length, page.waiting.length]).toEqual([5, 0])
})
