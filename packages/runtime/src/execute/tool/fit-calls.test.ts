import fc from 'fast-check'
import { expect, test } from 'vitest'
import { multiplied } from '../../../../../scripts/faults/campaign.ts'
import { fitCalls, type WeighedCall } from './fit-calls.ts'

const weighed = (...weights: number[]): WeighedCall[] => weights.map((weight, n) => ({ toolCallId: `c${n}`, weight }))
const sumOf = (calls: readonly WeighedCall[]): number => calls.reduce((sum, { weight }) => sum + weight, 0)

test.each([
  [[30, 30, 1], 50, ['c0', 'c2']],
  [[30, 30, 1], 61, ['c0', 'c1', 'c2']],
  [[70, 30, 1], 50, ['c1', 'c2']],
  [[5, 5], 4, []],
  [[], 4, []],
])('selects from the weights %j with room for %d: %j', (weights, room, expected) => {
  const fitted = fitCalls(weighed(...weights), calls => sumOf(calls) <= room)
  expect(fitted.map(({ toolCallId }) => toolCallId)).toEqual(expected)
})

test('selects only calls that fit, tests no selection twice, and costs a small multiple of the space', () => {
  const calls = fc.array(fc.integer({ min: 1, max: 100_000 }), { maxLength: 256 })
  fc.assert(
    fc.property(calls, fc.integer({ min: 1, max: 1_000_000 }), (weights, room) => {
      const tried: string[] = []
      let cost = 0
      const fitted = fitCalls(weighed(...weights), some => {
        tried.push(some.map(({ toolCallId }) => toolCallId).join())
        cost += sumOf(some)
        return sumOf(some) <= room
      })
      expect(sumOf(fitted)).toBeLessThanOrEqual(room)
      expect(new Set(tried).size).toBe(tried.length)
      expect(cost).toBeLessThanOrEqual(16 * room + 100_000)
      // No call smaller than the unused space is left out, within the precision.
      const left = weighed(...weights).filter(({ toolCallId }) => !fitted.some(call => call.toolCallId === toolCallId))
      const empty = room - sumOf(fitted)
      for (const { weight } of left) expect(weight).toBeGreaterThan(empty - room / 16)
    }),
    { numRuns: multiplied(200) },
  )
})
