import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Look, moved, seenOf, showing, zoomed } from './sight.ts'

const END = 10_000
const whole = seenOf({}, END)

describe('what is looked at', () => {
  test('is all of it at first, and goes on with the end', () => {
    expect(whole.from).toBe(0)
    expect(whole.to).toBeGreaterThanOrEqual(END)
    expect(seenOf({}, 2 * END).to).toBeGreaterThanOrEqual(2 * END)
    const close = zoomed({}, END, 4)
    expect(close.from).toBeUndefined()
    expect(seenOf(close, 2 * END).to).toBeGreaterThanOrEqual(2 * END)
  })

  test('stays where it was put while the log grows', () => {
    const look = zoomed({}, END, 4, 2000)
    expect(seenOf(look, END)).toEqual(seenOf(look, 5 * END))
    expect(moved(look, END, 1000).from).toBeUndefined()
  })

  test('closer keeps what is under the pointer, and never leaves the log', () => {
    const moves = fc.array(
      fc.tuple(
        fc.double({ min: 0.2, max: 5, noNaN: true }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.double({ min: -2, max: 2, noNaN: true }),
      ),
    )
    fc.assert(
      fc.property(moves, list => {
        let look: Look = {}
        for (const [factor, share, step] of list) {
          const before = seenOf(look, END)
          const around = before.from + share * (before.to - before.from)
          look = zoomed(look, END, factor, around)
          const after = seenOf(look, END)
          expect(around).toBeGreaterThanOrEqual(after.from - 0.01)
          expect(around).toBeLessThanOrEqual(after.to + 0.01)
          look = moved(look, END, step)
          const { from, to } = seenOf(look, END)
          expect(from).toBeGreaterThanOrEqual(0)
          expect(to).toBeLessThanOrEqual(whole.to + 0.01)
          expect(to - from).toBeGreaterThan(4)
        }
      }),
    )
  })

  test('a place that is out of sight comes into it, and one in sight moves nothing', () => {
    const look = zoomed({}, END, 10, 0)
    expect(showing(look, END, 100)).toBe(look)
    const { from, to } = seenOf(showing(look, END, 7000), END)
    expect(from).toBeLessThan(7000)
    expect(to).toBeGreaterThan(7000)
  })
})
