import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { panned, revealed, type Viewport, visibleRange, zoomed } from './viewport.ts'

const END = 10_000
const fullRange = visibleRange({}, END)

describe('viewport', () => {
  test('shows everything at first and follows the end', () => {
    expect(fullRange.from).toBe(0)
    expect(fullRange.to).toBeGreaterThanOrEqual(END)
    expect(visibleRange({}, 2 * END).to).toBeGreaterThanOrEqual(2 * END)
    const zoomedIn = zoomed({}, END, 4)
    expect(zoomedIn.from).toBeUndefined()
    expect(visibleRange(zoomedIn, 2 * END).to).toBeGreaterThanOrEqual(2 * END)
  })

  test('stays in place while the log grows', () => {
    const viewport = zoomed({}, END, 4, 2000)
    expect(visibleRange(viewport, END)).toEqual(visibleRange(viewport, 5 * END))
    expect(panned(viewport, END, 1000).from).toBeUndefined()
  })

  test('zooms around the pointer and stays within the log', () => {
    const moves = fc.array(
      fc.tuple(
        fc.double({ min: 0.2, max: 5, noNaN: true }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.double({ min: -2, max: 2, noNaN: true }),
      ),
    )
    fc.assert(
      fc.property(moves, list => {
        let viewport: Viewport = {}
        for (const [factor, share, step] of list) {
          const before = visibleRange(viewport, END)
          const around = before.from + share * (before.to - before.from)
          viewport = zoomed(viewport, END, factor, around)
          const after = visibleRange(viewport, END)
          expect(around).toBeGreaterThanOrEqual(after.from - 0.01)
          expect(around).toBeLessThanOrEqual(after.to + 0.01)
          viewport = panned(viewport, END, step)
          const { from, to } = visibleRange(viewport, END)
          expect(from).toBeGreaterThanOrEqual(0)
          expect(to).toBeLessThanOrEqual(fullRange.to + 0.01)
          expect(to - from).toBeGreaterThan(4)
        }
      }),
    )
  })

  test('reveals a hidden position and does not move for a visible one', () => {
    const viewport = zoomed({}, END, 10, 0)
    expect(revealed(viewport, END, 100)).toBe(viewport)
    const { from, to } = visibleRange(revealed(viewport, END, 7000), END)
    expect(from).toBeLessThan(7000)
    expect(to).toBeGreaterThan(7000)
  })
})
