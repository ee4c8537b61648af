import { describe, expect, test } from 'vitest'
import { judge } from './harness/judge.ts'
import { measure } from './harness/measure.ts'
import type { Row } from './harness/run-rounds.ts'
import { exponent, median, quantile } from './harness/statistics.ts'
import { type Contender, job } from './harness/suite.ts'
import { table } from './harness/table.ts'

const row = (name: string, perItem: number, size = 100): Row => {
  const cpu = (perItem * size) / 1e6
  const samples = [{ cpu, wall: 2 * cpu, loads: 1 }]
  const value = { median: cpu, min: cpu, max: cpu }
  return { name, kind: 'ours', unit: 'cpu', items: size, size, samples, value, perItem }
}

test('median returns the middle value, or the mean of the middle two', () => {
  expect(median([5, 1, 9])).toBe(5)
  expect(median([8, 1, 2, 4])).toBe(3)
})

test('quantile returns the smallest value that the given share does not exceed', () => {
  const values = Array.from({ length: 200 }, (_, i) => 200 - i)
  expect(quantile(values, 0.5)).toBe(100)
  expect(quantile(values, 0.99)).toBe(198)
  expect(quantile([7], 0.99)).toBe(7)
})

test('exponent returns 1 for linear growth and 2 for quadratic growth', () => {
  expect(exponent({ size: 10, perItem: 7 }, { size: 1000, perItem: 7 })).toBeCloseTo(1)
  expect(exponent({ size: 10, perItem: 1 }, { size: 1000, perItem: 100 })).toBeCloseTo(2)
})

describe('judge', () => {
  const rows = [row('a', 30), row('b', 100), row('c', 300, 10_000), { ...row('d', 1), error: 'wrong' }]

  test('meets a ratio up to and including its bound', () => {
    expect(judge({ kind: 'ratio', of: 'a', to: 'b', atMost: 0.31 }, rows)).toMatchObject({ value: 0.3, met: true })
    expect(judge({ kind: 'ratio', of: 'b', to: 'a', atMost: 1 }, rows)).toMatchObject({ met: false })
    expect(judge({ kind: 'ratio', of: 'b', to: 'a' }, rows)).not.toHaveProperty('met')
  })

  test('meets a cost and an exponent up to their bounds', () => {
    expect(judge({ kind: 'cost', of: 'a', atMost: 29 }, rows)).toMatchObject({ value: 30, met: false })
    expect(judge({ kind: 'exponent', small: 'a', large: 'c', under: 1.4 }, rows)).toMatchObject({ met: false })
    expect(judge({ kind: 'exponent', small: 'a', large: 'c', under: 1.6 }, rows)).toMatchObject({ met: true })
  })

  test('prints a cost in the unit of the benchmark', () => {
    const bytes = { ...row('bytes', 480), unit: 'bytes' as const }
    const times = { ...row('times', 1.5), unit: 'times' as const }
    expect(judge({ kind: 'cost', of: 'bytes', atMost: 512 }, [bytes])).toMatchObject({
      text: 'bytes, bytes an item',
      bound: 'at most 512 bytes',
      met: true,
    })
    expect(judge({ kind: 'cost', of: 'times', atMost: 1 }, [times])).toMatchObject({
      bound: 'at most 1 times',
      met: false,
    })
  })

  test('meets a rate and a speed from the bound upwards', () => {
    expect(judge({ kind: 'rate', of: 'b', to: 'a', atLeast: 0.3 }, rows)).toMatchObject({ value: 0.3, met: true })
    expect(judge({ kind: 'rate', of: 'b', to: 'a', atLeast: 0.31 }, rows)).toMatchObject({ met: false })
    expect(judge({ kind: 'speed', of: 'b', atLeast: 1e7 }, rows)).toMatchObject({ value: 1e7, met: true })
    expect(judge({ kind: 'speed', of: 'b', atLeast: 1.1e7 }, rows)).toMatchObject({ met: false })
  })

  test('compares the 99th percentiles of a tail', () => {
    const slow = (name: string, p99: number) => ({ ...row(name, 1), p99: { median: p99, min: p99, max: p99 } })
    const tails = [slow('e', 3), slow('f', 4)]
    expect(judge({ kind: 'tail', of: 'e', to: 'f', atMost: 1 }, tails)).toMatchObject({ value: 0.75, met: true })
    expect(judge({ kind: 'tail', of: 'f', to: 'e', atMost: 1 }, tails)).toMatchObject({ met: false })
    expect(judge({ kind: 'tail', of: 'a', to: 'b', atMost: 1 }, rows)).toMatchObject({ met: false })
  })

  test('computes the range of single rounds in the unit of the benchmark', () => {
    const wall = { ...row('w', 50), unit: 'wall' as const }
    expect(judge({ kind: 'ratio', of: 'w', to: 'b' }, [...rows, wall])?.range).toEqual({ min: 1, max: 1 })
  })

  test('returns undefined if a contender failed', () => {
    expect(judge({ kind: 'ratio', of: 'a', to: 'd', atMost: 1 }, rows)).toBeUndefined()
  })
})

test('table: marks missed targets and failed contenders', () => {
  const benchmark = { name: 'n', title: 't', item: 'delta', reference: 'a', contenders: [], claims: [] }
  const verdicts = [{ text: 'a / b', value: 2, bound: 'at most 1', met: false }]
  const printed = table('s', benchmark, [row('a', 30), { ...row('b', 1), error: 'wrong output' }], verdicts)
  expect(printed).toContain('a / b: 2.00, at most 1: NOT met')
  expect(printed).toContain('FAILED b: wrong output')
})

test('table: prints the remarks of the last round', () => {
  const benchmark = { name: 'n', title: 't', item: 'delta', contenders: [], claims: [] }
  const samples = [
    { cpu: 1, wall: 1, loads: 1, notes: ['cold'] },
    { cpu: 1, wall: 1, loads: 1, notes: ['warm'] },
  ]
  const printed = table('s', benchmark, [{ ...row('a', 30), samples }], [])
  expect(printed).toContain('\n  a: warm\n')
  expect(printed).not.toContain('cold')
})

test('table: has the columns of its unit', () => {
  const benchmark = { name: 'n', title: 't', item: 'entry', contenders: [], claims: [] }
  const wall = { ...row('a', 500), unit: 'wall' as const }
  expect(table('s', { ...benchmark, unit: 'wall' }, [wall], [])).toMatch(/entry \/ s\n.* 2,000,000$/m)
  const spread = { median: 0.5, min: 0.25, max: 4 }
  const often = { ...row('a', 0.5), unit: 'times' as const, value: spread }
  expect(table('s', { ...benchmark, unit: 'times' }, [often], [])).toMatch(
    /times \/ entry.*\n.*0\.500 \[0\.250\.\.4\.00\]/,
  )
  const late = { ...row('a', 0.5), unit: 'latency' as const, value: spread, p99: { ...spread, median: 3 } }
  const printed = table('s', { ...benchmark, unit: 'latency' }, [late], [])
  expect(printed).toMatch(/p50 ms.*p99 ms/)
  expect(printed).toMatch(/0\.500 \[0\.250\.\.4\.00\] +3\.00 \[/)
})

describe('measure', () => {
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

  test('repeats the load until enough CPU time is measured', async () => {
    const { cpu, loads } = await measure(contender(() => {}))
    expect(cpu).toBeGreaterThan(0)
    expect(cpu * loads).toBeGreaterThan(50)
  })

  test('uses the figures of the job for units other than time', async () => {
    const times = Array.from({ length: 100 }, (_, i) => i + 1)
    const late: Contender = {
      ...contender(() => {}),
      load: { pieces: 1, items: 1 },
      prepare: async () =>
        job(
          () => times,
          () => {},
          output => output,
          output => [`${output.length} of them`],
        ),
    }
    expect(await measure(late, 'latency')).toMatchObject({ p50: 50, p99: 99, loads: 1, notes: ['100 of them'] })
  })

  test('throws when an output is wrong', async () => {
    const wrong = contender(() => {
      throw new Error('wrong output')
    })
    await expect(measure(wrong)).rejects.toThrow('wrong output')
  })
})
