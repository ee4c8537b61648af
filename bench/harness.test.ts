import { describe, expect, test } from 'vitest'
import { judge } from './harness/claim.ts'
import { measure } from './harness/meter.ts'
import type { Row } from './harness/rounds.ts'
import { exponent, median } from './harness/statistics.ts'
import { type Contender, job } from './harness/suite.ts'
import { table } from './harness/table.ts'

const row = (name: string, perItem: number, size = 100): Row => {
  const cpu = (perItem * size) / 1e6
  const samples = [{ cpu, wall: cpu, loads: 1 }]
  return { name, kind: 'ours', items: size, size, samples, cpu: { median: cpu, min: cpu, max: cpu }, perItem }
}

test('the median is the middle, or the mean of the two in the middle', () => {
  expect(median([5, 1, 9])).toBe(5)
  expect(median([8, 1, 2, 4])).toBe(3)
})

test('the exponent tells linear from quadratic growth', () => {
  expect(exponent({ size: 10, perItem: 7 }, { size: 1000, perItem: 7 })).toBeCloseTo(1)
  expect(exponent({ size: 10, perItem: 1 }, { size: 1000, perItem: 100 })).toBeCloseTo(2)
})

describe('a claim', () => {
  const rows = [row('a', 30), row('b', 100), row('c', 300, 10_000), { ...row('d', 1), error: 'wrong' }]

  test('of a ratio is met up to its bound and not beyond', () => {
    expect(judge({ kind: 'ratio', of: 'a', to: 'b', atMost: 0.31 }, rows)).toMatchObject({ value: 0.3, met: true })
    expect(judge({ kind: 'ratio', of: 'b', to: 'a', atMost: 1 }, rows)).toMatchObject({ met: false })
    expect(judge({ kind: 'ratio', of: 'b', to: 'a' }, rows)).not.toHaveProperty('met')
  })

  test('of a cost and of an exponent likewise', () => {
    expect(judge({ kind: 'cost', of: 'a', atMost: 29 }, rows)).toMatchObject({ value: 30, met: false })
    expect(judge({ kind: 'exponent', small: 'a', large: 'c', under: 1.4 }, rows)).toMatchObject({ met: false })
    expect(judge({ kind: 'exponent', small: 'a', large: 'c', under: 1.6 }, rows)).toMatchObject({ met: true })
  })

  test('says nothing of a contender that failed', () => {
    expect(judge({ kind: 'ratio', of: 'a', to: 'd', atMost: 1 }, rows)).toBeUndefined()
  })
})

test('a table shows a miss and a failure plainly', () => {
  const benchmark = { name: 'n', title: 't', item: 'delta', reference: 'a', contenders: [], claims: [] }
  const verdicts = [{ text: 'a / b', value: 2, bound: 'at most 1', met: false }]
  const shown = table('s', benchmark, [row('a', 30), { ...row('b', 1), error: 'wrong output' }], verdicts)
  expect(shown).toContain('a / b: 2.00, at most 1: NOT met')
  expect(shown).toContain('FAILED b: wrong output')
})

describe('the meter', () => {
  const contender = (check: (sum: number) => void): Contender => ({
    name: 'sum',
    kind: 'ours',
    load: { pieces: 2, items: 1_000_000 },
    warmUp: { pieces: 1, items: 1_000_000 },
    prepare: async items =>
      job(() => {
        let sum = 0
        for (let i = 0; i < items; i++) sum = (sum + i) % 1_000_003
        return sum
      }, check),
  })

  test('measures about as much as it should', async () => {
    const { cpu, loads } = await measure(contender(() => {}))
    expect(cpu).toBeGreaterThan(0)
    expect(cpu * loads).toBeGreaterThan(50)
  })

  test('throws when an output is wrong', async () => {
    const wrong = contender(() => {
      throw new Error('wrong output')
    })
    await expect(measure(wrong)).rejects.toThrow('wrong output')
  })
})
