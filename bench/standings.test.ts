import { describe, expect, test } from 'vitest'
import { held, interval } from './harness/bootstrap.ts'
import { overview } from './harness/overview.ts'
import type { Row } from './harness/rounds.ts'
import { needsOf, type Standing, stand } from './harness/standing.ts'
import { choose, UnknownName } from './harness/work.ts'
import { charts } from './report/charts.ts'
import { growthChart } from './report/growth.ts'
import { ratioChart } from './report/ratios.ts'
import { standings } from './standings.ts'
import { suites } from './suites/index.ts'

/** A contender whose items cost so many nanoseconds in each round. */
function row(name: string, each: number[], more: Partial<Row> = {}): Row {
  const [items, size] = [1_000_000, 1000]
  const samples = each.map(ns => ({ cpu: ns, wall: ns, loads: 1, p50: ns, p99: 10 * ns }))
  const value = { median: 0, min: 0, max: 0 }
  return { name, kind: 'ours', unit: 'cpu', items, size, samples, value, perItem: each[0] ?? 0, ...more }
}

const standing: Standing = {
  job: 'grinding',
  benchmark: 'mill/grind',
  ours: 'ours',
  peers: ['slow', 'fast'],
  floor: 'water',
  atMost: 0.5,
  atMostOfFloor: 3,
  growth: { benchmark: 'mill/growth', small: 'ours, 10', large: 'ours, 1,000' },
}

const measuredWith = (ours: number[]) =>
  new Map([
    ['mill/grind', [row('ours', ours), row('slow', [90, 90, 90]), row('fast', [40, 50, 60]), row('water', [5, 5, 5])]],
    ['mill/growth', [row('ours, 10', [7, 7, 7], { size: 10 }), row('ours, 1,000', [7, 7, 7], { size: 1000 })]],
  ])

describe('the interval of a figure', () => {
  test('of few rounds is their range, and of many it leaves out what is rare', () => {
    expect(interval([3, 1, 2])).toEqual({ low: 1, high: 3 })
    const { low, high } = interval([...Array.from({ length: 40 }, (_, i) => 10 + i / 40), 1000, 0.1])
    expect(low).toBeGreaterThan(10)
    expect(high).toBeLessThan(11)
    expect(low).toBeLessThan(high)
  })

  test('is the same each time that it is asked for', () => {
    const values = Array.from({ length: 20 }, (_, i) => Math.sin(i))
    expect(interval(values)).toEqual(interval(values))
  })

  test('passes where all of it keeps to a bound, fails where none does, and else does not decide', () => {
    expect(held({ low: 0.4, high: 0.5 }, 0.5)).toBe('pass')
    expect(held({ low: 0.4, high: 0.51 }, 0.5)).toBe('undecided')
    expect(held({ low: 0.5, high: 0.6 }, 0.5)).toBe('undecided')
    expect(held({ low: 0.51, high: 0.6 }, 0.5)).toBe('fail')
  })
})

describe('a row of the one table', () => {
  test('holds ours against the best peer, round by round, against the floor, and by its growth', () => {
    const made = stand(standing, measuredWith([20, 10, 12]))
    expect(made).toMatchObject({ ours: 12, failed: [] })
    expect(made.peer).toEqual({ name: 'fast', cost: 50, value: 0.24, low: 0.2, high: 0.5 })
    expect(made.floor).toMatchObject({ cost: 5, value: 2.4, low: 2, high: 4 })
    expect(made.growth?.value).toBeCloseTo(1)
    expect(made.held.map(({ claim, ruling }) => [claim, ruling])).toEqual([
      ['peer', 'pass'],
      ['floor', 'undecided'],
      ['growth', 'pass'],
    ])
  })

  test('fails where every round is beyond what is claimed', () => {
    const { held } = stand(standing, measuredWith([45, 55, 65]))
    expect(held.map(({ ruling }) => ruling)).toEqual(['fail', 'fail', 'pass'])
  })

  test('tells who did not work, and claims nothing of him', () => {
    const measured = measuredWith([20, 10, 12])
    measured.get('mill/grind')?.splice(0, 1, row('ours', [], { error: 'wrong' }))
    const made = stand(standing, measured)
    expect([made.failed, made.peer, made.held.length]).toEqual([['ours'], undefined, 1])
    expect(overview([made], true)).toContain('FAIL: ours did not work')
  })

  test('may compare what one in a hundred exceeds', () => {
    const made = stand({ ...standing, tail: true }, measuredWith([20, 10, 12]))
    expect([made.ours, made.peer?.cost]).toEqual([120, 500])
  })

  test('knows growth by sizes that are not those of the load', () => {
    const growth = { small: 'slow', large: 'ours', sizes: [1, 100] as const }
    const measured = measuredWith([900, 900, 900])
    expect(stand({ ...standing, growth }, measured).growth?.value).toBeCloseTo(1.5)
  })
})

describe('the standings', () => {
  const benchmarks = new Map(
    suites.flatMap(({ name, benchmarks }) => benchmarks(false).map(made => [`${name}/${made.name}`, made])),
  )
  const kindOf = (benchmark: string, name: string) =>
    benchmarks.get(benchmark)?.contenders.find(contender => contender.name === name)?.kind

  test.each(standings)('$job: names contenders that there are, each as what it is', row => {
    const { benchmark, ours, peers = [], floor, growth } = row
    expect(kindOf(benchmark, ours)).toBe('ours')
    for (const peer of peers) expect([peer, kindOf(benchmark, peer)]).toEqual([peer, 'peer'])
    if (floor !== undefined) expect([floor, kindOf(benchmark, floor)]).toEqual([floor, 'floor'])
    for (const name of growth ? [growth.small, growth.large] : []) {
      expect([name, kindOf(growth?.benchmark ?? benchmark, name)]).toEqual([name, 'ours'])
    }
  })

  test('every suite stands in the table', () => {
    const stands = new Set(standings.map(({ benchmark }) => benchmark.split('/')[0]))
    expect(suites.map(({ name }) => name).filter(name => !stands.has(name))).toEqual([])
  })

  test('a peer is ahead in three rows at most, in none of reduce, json and log, and each says why', () => {
    const behind = standings.filter(({ ahead }) => ahead !== undefined)
    expect(behind.length).toBeLessThanOrEqual(3)
    expect(behind.filter(({ benchmark }) => /^(reduce|json|log)\//.test(benchmark))).toEqual([])
    const unsaid = standings.filter(({ atMost, peers, ahead }) => peers && !(atMost && atMost <= 1) && !ahead)
    expect(unsaid.map(({ job }) => job)).toEqual([])
  })

  test('the curves name contenders that there are', () => {
    const points = charts.flatMap(({ curves }) => curves.flatMap(({ points }) => points))
    expect(points.filter(({ benchmark, contender }) => kindOf(benchmark, contender) === undefined)).toEqual([])
  })
})

describe('what is run', () => {
  const asked = { suites, standings, names: [], quick: false, verify: false }
  const paths = (works: ReturnType<typeof choose>) => works.map(({ suite, benchmark }) => `${suite}/${benchmark.name}`)

  test('is everything, or what is named', () => {
    expect(paths(choose(asked)).length).toBe(suites.flatMap(({ benchmarks }) => benchmarks(false)).length)
    expect(paths(choose({ ...asked, names: ['reduce/paced', 'patch'] }))).toEqual(['reduce/paced', 'patch/apply'])
    expect(() => choose({ ...asked, names: ['nothing'] })).toThrow(UnknownName)
  })

  test('is who stands in the table, where it is verified', () => {
    const works = choose({ ...asked, verify: true })
    const needed = new Set(standings.flatMap(row => [...needsOf(row).keys()]))
    expect(new Set(paths(works))).toEqual(needed)
    const batches = works.find(({ suite, benchmark }) => `${suite}/${benchmark.name}` === 'reduce/batches')
    expect(batches?.benchmark.contenders.map(({ name }) => name)).not.toContain('millrace, 1 a batch')
  })

  test('is little where there is little time', () => {
    const processes = choose({ ...asked, quick: true }).map(
      ({ benchmark, rounds }) => benchmark.contenders.length * rounds,
    )
    expect(processes.reduce((sum, count) => sum + count, 0)).toBeLessThan(100)
  })
})

describe('a drawing', () => {
  test('has a line for each curve, and none where something was not measured', () => {
    const points = [1, 10, 100].map(size => ({ size, benchmark: 'mill/grind', contender: 'ours' }))
    const chart = {
      name: 'n',
      title: 'a < b',
      across: 'x',
      up: 'y',
      unit: 'cpu' as const,
      curves: [{ label: 'Ours', points }],
    }
    const drawn = growthChart(chart, measuredWith([20, 20, 20])) ?? ''
    expect(drawn.match(/<polyline/g)).toHaveLength(1)
    expect(drawn.match(/<circle/g)).toHaveLength(3)
    expect(drawn).toContain('a &lt; b')
    expect(growthChart(chart, new Map())).toBeUndefined()
  })

  test('of ratios has a bar for each row with a peer, to the left of one where ours is ahead', () => {
    const stands = [
      stand(standing, measuredWith([20, 10, 12])),
      stand({ ...standing, job: 'idling', peers: [] }, measuredWith([1, 1, 1])),
    ]
    const drawn = ratioChart(stands)
    expect(drawn.match(/<rect /g)).toHaveLength(2)
    expect([drawn.includes('grinding'), drawn.includes('idling')]).toEqual([true, false])
  })
})
