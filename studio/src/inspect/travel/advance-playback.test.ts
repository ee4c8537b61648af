import type { Entry } from '@millrace/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { advancePlayback } from './advance-playback.ts'

const log = (...times: number[]): Entry[] =>
  times.map((timestamp, i) => ({ sequence: i + 1, timestamp, origin: { guest: 'g' }, chunk: { type: 'start' } }))

test('plays entries with their original timing, with waits of at most 1 s', () => {
  const entries = log(0, 10, 10, 500, 3_600_000)
  expect(advancePlayback(entries, 0, 9)).toEqual({ index: 0, left: 9 })
  expect(advancePlayback(entries, 0, 10)).toEqual({ index: 2, left: 0 })
  expect(advancePlayback(entries, 2, 490)).toEqual({ index: 3, left: 0 })
  expect(advancePlayback(entries, 3, 999)).toEqual({ index: 3, left: 999 })
  expect(advancePlayback(entries, 3, 1000)).toEqual({ index: 4, left: 0 })
  expect(advancePlayback(entries, -1, 0)).toEqual({ index: 0, left: 0 })
})

test('plays the same however the time is split into frames', () => {
  const steps = fc.array(fc.nat(2000), { maxLength: 30 })
  fc.assert(
    fc.property(steps, fc.array(fc.nat(500), { maxLength: 30 }), (waits, pieces) => {
      let time = 0
      const entries = log(0, ...waits.map(wait => (time += wait)))
      let at = { index: 0, left: 0 }
      for (const piece of pieces) at = advancePlayback(entries, at.index, at.left + piece)
      const whole = advancePlayback(
        entries,
        0,
        pieces.reduce((sum, piece) => sum + piece, 0),
      )
      expect(at.index).toBe(whole.index)
    }),
  )
})
