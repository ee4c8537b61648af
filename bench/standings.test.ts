import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { interval, ruleInterval } from './harness/interval.ts'
import type { Row } from './harness/run-rounds.ts'
import { SelectionError, selectBenchmarks } from './harness/select-benchmarks.ts'
import { evaluateStanding, hasClaim, needsOf, type Standing } from './harness/standing.ts'
import { verify } from './harness/verify.ts'
import { charts } from './report/charts.ts'
import { growthChart } from './report/growth-chart.ts'
import { DOCS, withMeasured } from './report/page.ts'
import { ratioChart } from './report/ratio-chart.ts'
import { load } from './report/results.ts'
import { standings } from './standings.ts'
import { suites } from './suites/index.ts'

/** A contender with the given cost per item in ns for each round. */
function row(name: string, each: number[], more: Partial<Row> = {}): Row {
  const [items, size] = [1_000_000, 1000]
  const samples = each.map(ns => ({ cpu: ns, wall: ns, loads: 1, p50: ns, p99: 10 * ns }))
  const value = { median: 0, min: 0, max: 0 }
  return { name, kind: 'ours', unit: 'cpu', items, size, samples, value, perItem: each[0] ?? 0, ...more }
}

const standing: Standing = {
  job: 'parsing',
  benchmark: 'suite/benchmark',
  ours: 'ours',
  peers: ['slow', 'fast'],
  floor: 'floor',
  atMost: 0.5,
  atMostOfFloor: 3,
  growth: { benchmark: 'suite/growth', small: 'ours, 10', large: 'ours, 1,000' },
}

const five = (value: number) => [value, value, value, value, value]
const measuredWith = (ours: number[]) =>
  new Map([
    [
      'suite/benchmark',
      [row('ours', ours), row('slow', five(90)), row('fast', [40, 45, 50, 55, 60]), row('floor', five(5))],
    ],
    ['suite/growth', [row('ours, 10', five(7), { size: 10 }), row('ours, 1,000', five(7), { size: 1000 })]],
  ])

describe('interval', () => {
  test('is the full range of five rounds and excludes outliers of many', () => {
    expect(interval([5, 3, 1, 2, 4])).toEqual({ low: 1, high: 5, rounds: 5 })
    const { low, high } = interval([...Array.from({ length: 40 }, (_, i) => 10 + i / 40), 1000, 0.1])
    expect(low).toBeGreaterThan(10)
    expect(high).toBeLessThan(11)
    expect(low).toBeLessThan(high)
  })

  test('is deterministic', () => {
    const values = Array.from({ length: 20 }, (_, i) => Math.sin(i))
    expect(interval(values)).toEqual(interval(values))
  })

  test('passes within the bound, fails beyond it, and is undecided if the bound lies inside', () => {
    const ruled = (low: number, high: number, rounds = 5) => ruleInterval({ low, high, rounds }, 0.5)
    expect(ruled(0.4, 0.5)).toBe('pass')
    expect(ruled(0.4, 0.51)).toBe('undecided')
    expect(ruled(0.5, 0.6)).toBe('undecided')
    expect(ruled(0.51, 0.6)).toBe('fail')
    expect([ruled(0.1, 0.2, 4), ruled(0.8, 0.9, 4)]).toEqual(['undecided', 'undecided'])
    expect([ruled(Number.NaN, Number.NaN), ruled(0, 0.1), ruled(0.1, Number.POSITIVE_INFINITY)]).toEqual([
      'unmeasured',
      'unmeasured',
      'unmeasured',
    ])
  })
})

describe('a row of the standings table', () => {
  test('compares ours with the best peer, with the floor, and by its growth', () => {
    const result = evaluateStanding(standing, measuredWith([20, 9, 10, 11, 12]))
    expect(result.ours).toBe(11)
    expect(result.peer).toEqual({ name: 'fast', cost: 50, value: 0.22, low: 0.2, high: 0.5, rounds: 5 })
    expect(result.floor).toMatchObject({ cost: 5, value: 2.2, low: 1.8, high: 4 })
    expect(result.growth?.value).toBeCloseTo(1)
    expect(result.claims.map(({ claim, ruling }) => [claim, ruling])).toEqual([
      ['peer', 'pass'],
      ['floor', 'undecided'],
      ['growth', 'pass'],
    ])
  })

  test('fails if every round exceeds the claim', () => {
    const { claims } = evaluateStanding(standing, measuredWith([45, 50, 55, 60, 65]))
    expect(claims.map(({ ruling }) => ruling)).toEqual(['fail', 'fail', 'pass'])
  })

  test('is undecided if a peer with a higher median may be cheaper', () => {
    const measured = measuredWith(five(10))
    measured.get('suite/benchmark')?.splice(1, 1, row('slow', [15, 15, 90, 90, 90]))
    const { peer, claims } = evaluateStanding(standing, measured)
    expect([peer?.name, claims[0]?.ruling]).toEqual(['fast', 'undecided'])
  })

  test.each([0, 1, 2, 3])('reports claims as unmeasured if contender %i failed', index => {
    const measured = measuredWith(five(10))
    const rows = measured.get('suite/benchmark') ?? []
    rows.splice(index, 1, row(rows[index]?.name ?? '', [], { error: 'wrong' }))
    const result = evaluateStanding(standing, measured)
    expect(result.claims).toHaveLength(3)
    expect(result.claims.map(({ ruling }) => ruling)).toContain('unmeasured')
    expect(verify([result]).failures).toHaveLength(index === 0 ? 2 : 1)
  })

  test('compares the 99th percentiles with `tail`', () => {
    const result = evaluateStanding({ ...standing, tail: true }, measuredWith(five(12)))
    expect([result.ours, result.peer?.cost]).toEqual([120, 500])
  })

  test('computes growth from explicit sizes', () => {
    const growth = { small: 'slow', large: 'ours', sizes: [1, 100] as const }
    expect(evaluateStanding({ ...standing, growth }, measuredWith(five(900))).growth?.value).toBeCloseTo(1.5)
  })
})

describe('verify', () => {
  const rowBehind = (benchmark: string, aheadReason?: string): Standing => {
    return { job: benchmark, benchmark, ours: 'ours', peers: ['fast'], ...(aheadReason && { aheadReason }) }
  }
  const failuresOf = (rows: readonly Standing[]) => {
    const measured = new Map(rows.map(row => [row.benchmark, rowsOf()]))
    return verify(rows.map(row => evaluateStanding(row, measured))).failures
  }
  const rowsOf = () => [row('ours', five(2)), row('fast', five(1))]

  test('allows three rows with a peer ahead, each with a reason', () => {
    const rows = ['a/a', 'b/b', 'c/c'].map(path => rowBehind(path, 'a reason'))
    expect(failuresOf(rows)).toEqual([])
    expect(failuresOf([...rows, rowBehind('d/d', 'a reason')])).toEqual([
      expect.stringMatching(/^a peer is ahead in 4 rows/),
    ])
    expect(failuresOf([rowBehind('a/a')])).toEqual(['a/a: a peer is ahead without a reason'])
    expect(failuresOf([rowBehind('log/append', 'a reason')])).toEqual(['log/append: a peer is ahead'])
  })
})

describe('the standings', () => {
  const benchmarks = new Map(
    suites.flatMap(({ name, benchmarks }) =>
      benchmarks(false).map(benchmark => [`${name}/${benchmark.name}`, benchmark]),
    ),
  )
  const kindOf = (benchmark: string, name: string) =>
    benchmarks.get(benchmark)?.contenders.find(contender => contender.name === name)?.kind

  test.each(standings)('$job: names existing contenders of the right kind', row => {
    const { benchmark, ours, peers = [], floor, growth } = row
    expect(kindOf(benchmark, ours)).toBe('ours')
    for (const peer of peers) expect([peer, kindOf(benchmark, peer)]).toEqual([peer, 'peer'])
    if (floor !== undefined) expect([floor, kindOf(benchmark, floor)]).toEqual([floor, 'floor'])
    for (const name of growth ? [growth.small, growth.large] : []) {
      expect([name, kindOf(growth?.benchmark ?? benchmark, name)]).toEqual([name, 'ours'])
    }
  })

  test('every suite has a row', () => {
    const suiteNames = new Set(standings.map(({ benchmark }) => benchmark.split('/')[0]))
    expect(suites.map(({ name }) => name).filter(name => !suiteNames.has(name))).toEqual([])
  })

  test.each(standings)('$job: includes every peer of its benchmark or gives a reason', row => {
    const { benchmark, peers = [], excluded = [] } = row
    const benchmarkPeers = benchmarks.get(benchmark)?.contenders.filter(({ kind }) => kind === 'peer') ?? []
    const missing = benchmarkPeers.map(({ name }) => name).filter(name => !peers.includes(name))
    expect(missing.filter(name => !excluded.some(([part]) => name.includes(part)))).toEqual([])
    expect(excluded.filter(([part]) => !missing.some(name => name.includes(part)))).toEqual([])
  })

  test('every claim over a peer is at most 1, or the row gives a reason', () => {
    const withoutReason = standings.filter(({ atMost = 2, peers, aheadReason }) => peers && atMost > 1 && !aheadReason)
    expect(withoutReason.map(({ job }) => job)).toEqual([])
    expect(standings.filter(({ aheadReason }) => aheadReason).length).toBeLessThanOrEqual(3)
  })

  test('the growth charts name existing contenders', () => {
    const points = charts.flatMap(({ curves }) => curves.flatMap(({ points }) => points))
    expect(points.filter(({ benchmark, contender }) => kindOf(benchmark, contender) === undefined)).toEqual([])
  })

  test('docs/performance.md shows the saved results and existing images', () => {
    const page = readFileSync(join(DOCS, 'performance.md'), 'utf8')
    const results = load()
    expect(withMeasured(page, results)).toBe(page)
    expect(() => withMeasured('# Performance', results)).toThrow('no markers')
    expect(results.standings.map(({ job, tail }) => [job, tail])).toEqual(standings.map(({ job, tail }) => [job, tail]))
    for (const name of ['ratios', ...charts.map(({ name }) => name)]) {
      expect(page).toContain(`images/${name}.svg`)
      expect(existsSync(join(DOCS, 'images', `${name}.svg`))).toBe(true)
    }
  })
})

describe('selectBenchmarks', () => {
  const options = { suites, standings, names: [], quick: false, verify: false }
  const paths = (selected: ReturnType<typeof selectBenchmarks>) =>
    selected.map(({ suite, benchmark }) => `${suite}/${benchmark.name}`)

  test('selects everything, or the named suites and benchmarks', () => {
    expect(paths(selectBenchmarks(options)).length).toBe(suites.flatMap(({ benchmarks }) => benchmarks(false)).length)
    expect(paths(selectBenchmarks({ ...options, names: ['reduce/paced', 'patch'] }))).toEqual([
      'reduce/paced',
      'patch/apply',
    ])
    expect(() => selectBenchmarks({ ...options, names: ['nothing'] })).toThrow(SelectionError)
  })

  test('selects the contenders of the standings with `verify`', () => {
    const selected = selectBenchmarks({ ...options, verify: true })
    const needed = new Set(standings.flatMap(row => [...needsOf(row).keys()]))
    expect(new Set(paths(selected))).toEqual(needed)
    const few = selected.filter(({ rounds }) => rounds < 5).map(({ suite, benchmark }) => `${suite}/${benchmark.name}`)
    const claimed = standings.filter(hasClaim).flatMap(row => [...needsOf(row).keys()])
    expect(claimed.filter(path => few.includes(path))).toEqual([])
    const batches = selected.find(({ suite, benchmark }) => `${suite}/${benchmark.name}` === 'reduce/batches')
    expect(batches?.benchmark.contenders.map(({ name }) => name)).not.toContain('millrace, 1 a batch')
  })

  test('selects every benchmark that a named row needs with `verify`', () => {
    expect(paths(selectBenchmarks({ ...options, names: ['json/large'], verify: true }))).toEqual([
      'json/large',
      'json/growth',
    ])
    expect(() => selectBenchmarks({ ...options, names: ['reduce/paced'], verify: true })).toThrow(SelectionError)
  })

  test('selects fewer than 100 processes with `quick`', () => {
    const processes = selectBenchmarks({ ...options, quick: true }).map(
      ({ benchmark, rounds }) => benchmark.contenders.length * rounds,
    )
    expect(processes.reduce((sum, count) => sum + count, 0)).toBeLessThan(100)
  })
})

describe('a chart', () => {
  test('has a line per curve, and is undefined if a point was not measured', () => {
    const points = [1, 10, 100].map(size => ({ size, benchmark: 'suite/benchmark', contender: 'ours' }))
    const chart = {
      name: 'n',
      title: 'a < b',
      xLabel: 'x',
      yLabel: 'y',
      unit: 'cpu' as const,
      curves: [{ label: 'Ours', points }],
    }
    const drawn = growthChart(chart, measuredWith(five(20))) ?? ''
    expect(drawn.match(/<polyline/g)).toHaveLength(1)
    expect(drawn.match(/<circle/g)).toHaveLength(3)
    expect(drawn).toContain('a &lt; b')
    expect(growthChart(chart, new Map())).toBeUndefined()
  })

  test('has a bar for each row with a peer, for ratios', () => {
    const results = [
      evaluateStanding(standing, measuredWith(five(12))),
      evaluateStanding({ ...standing, job: 'without peer', peers: [] }, measuredWith(five(1))),
    ]
    const drawn = ratioChart(results)
    expect(drawn.match(/<rect /g)).toHaveLength(2)
    expect([drawn.includes('parsing'), drawn.includes('without peer')]).toEqual([true, false])
  })
})
