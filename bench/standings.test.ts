import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { held, interval } from './harness/bootstrap.ts'
import type { Row } from './harness/rounds.ts'
import { claims, needsOf, type Standing, stand } from './harness/standing.ts'
import { verify } from './harness/verification.ts'
import { choose, NothingAsked } from './harness/work.ts'
import { charts } from './report/charts.ts'
import { growthChart } from './report/growth.ts'
import { DOCS, withMeasured } from './report/page.ts'
import { ratioChart } from './report/ratios.ts'
import { load } from './report/results.ts'
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

const five = (value: number) => [value, value, value, value, value]
const measuredWith = (ours: number[]) =>
  new Map([
    [
      'mill/grind',
      [row('ours', ours), row('slow', five(90)), row('fast', [40, 45, 50, 55, 60]), row('water', five(5))],
    ],
    ['mill/growth', [row('ours, 10', five(7), { size: 10 }), row('ours, 1,000', five(7), { size: 1000 })]],
  ])

describe('the interval of a figure', () => {
  test('of few rounds is their range, and of many it leaves out what is rare', () => {
    expect(interval([5, 3, 1, 2, 4])).toEqual({ low: 1, high: 5, rounds: 5 })
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
    const ruled = (low: number, high: number, rounds = 5) => held({ low, high, rounds }, 0.5)
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

describe('a row of the one table', () => {
  test('holds ours against each peer, round by round, against the floor, and by its growth', () => {
    const made = stand(standing, measuredWith([20, 9, 10, 11, 12]))
    expect(made.ours).toBe(11)
    expect(made.peer).toEqual({ name: 'fast', cost: 50, value: 0.22, low: 0.2, high: 0.5, rounds: 5 })
    expect(made.floor).toMatchObject({ cost: 5, value: 2.2, low: 1.8, high: 4 })
    expect(made.growth?.value).toBeCloseTo(1)
    expect(made.held.map(({ claim, ruling }) => [claim, ruling])).toEqual([
      ['peer', 'pass'],
      ['floor', 'undecided'],
      ['growth', 'pass'],
    ])
  })

  test('fails where every round is beyond what is claimed', () => {
    const { held } = stand(standing, measuredWith([45, 50, 55, 60, 65]))
    expect(held.map(({ ruling }) => ruling)).toEqual(['fail', 'fail', 'pass'])
  })

  test('is held to the peer that is dearer by its median, where that one may be cheaper', () => {
    const measured = measuredWith(five(10))
    measured.get('mill/grind')?.splice(1, 1, row('slow', [15, 15, 90, 90, 90]))
    const { peer, held } = stand(standing, measured)
    expect([peer?.name, held[0]?.ruling]).toEqual(['fast', 'undecided'])
  })

  test.each([0, 1, 2, 3])('of whom one did not work, nothing that is claimed passes for him (%i)', place => {
    const measured = measuredWith(five(10))
    const rows = measured.get('mill/grind') ?? []
    rows.splice(place, 1, row(rows[place]?.name ?? '', [], { error: 'wrong' }))
    const made = stand(standing, measured)
    expect(made.held).toHaveLength(3)
    expect(made.held.map(({ ruling }) => ruling)).toContain('unmeasured')
    expect(verify([made]).failures).toHaveLength(place === 0 ? 2 : 1)
  })

  test('may compare what one in a hundred exceeds', () => {
    const made = stand({ ...standing, tail: true }, measuredWith(five(12)))
    expect([made.ours, made.peer?.cost]).toEqual([120, 500])
  })

  test('knows growth by sizes that are not those of the load', () => {
    const growth = { small: 'slow', large: 'ours', sizes: [1, 100] as const }
    expect(stand({ ...standing, growth }, measuredWith(five(900))).growth?.value).toBeCloseTo(1.5)
  })
})

describe('the table as a whole', () => {
  const beaten = (benchmark: string, ahead?: string): Standing => {
    return { job: benchmark, benchmark, ours: 'ours', peers: ['fast'], ...(ahead && { ahead }) }
  }
  const failuresOf = (rows: readonly Standing[]) => {
    const measured = new Map(rows.map(row => [row.benchmark, rowsOf()]))
    return verify(rows.map(row => stand(row, measured))).failures
  }
  const rowsOf = () => [row('ours', five(2)), row('fast', five(1))]

  test('may have three rows with a peer ahead, each with its reason', () => {
    const rows = ['a/a', 'b/b', 'c/c'].map(path => beaten(path, 'it keeps nothing'))
    expect(failuresOf(rows)).toEqual([])
    expect(failuresOf([...rows, beaten('d/d', 'likewise')])).toEqual([
      expect.stringMatching(/^a peer is ahead in 4 rows/),
    ])
    expect(failuresOf([beaten('a/a')])).toEqual(['a/a: a peer is ahead, and nothing says why'])
    expect(failuresOf([beaten('log/append', 'it keeps nothing')])).toEqual(['log/append: a peer is ahead'])
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

  test.each(standings)('$job: every peer of its benchmark stands in it, or the reason why not', row => {
    const { benchmark, peers = [], leftOut = [] } = row
    const kin = benchmarks.get(benchmark)?.contenders.filter(({ kind }) => kind === 'peer') ?? []
    const missing = kin.map(({ name }) => name).filter(name => !peers.includes(name))
    expect(missing.filter(name => !leftOut.some(([part]) => name.includes(part)))).toEqual([])
    expect(leftOut.filter(([part]) => !missing.some(name => name.includes(part)))).toEqual([])
  })

  test('what is claimed against a peer is that ours is ahead, or the reason why not is there', () => {
    const unsaid = standings.filter(({ atMost = 2, peers, ahead }) => peers && atMost > 1 && !ahead)
    expect(unsaid.map(({ job }) => job)).toEqual([])
    expect(standings.filter(({ ahead }) => ahead).length).toBeLessThanOrEqual(3)
  })

  test('the curves name contenders that there are', () => {
    const points = charts.flatMap(({ curves }) => curves.flatMap(({ points }) => points))
    expect(points.filter(({ benchmark, contender }) => kindOf(benchmark, contender) === undefined)).toEqual([])
  })

  test('the page shows what was kept, and its drawings are there', () => {
    const page = readFileSync(join(DOCS, 'performance.md'), 'utf8')
    const results = load()
    expect(withMeasured(page, results)).toBe(page)
    expect(() => withMeasured('# Performance', results)).toThrow('no place')
    expect(results.stands.map(({ job, tail }) => [job, tail])).toEqual(standings.map(({ job, tail }) => [job, tail]))
    for (const name of ['ratios', ...charts.map(({ name }) => name)]) {
      expect(page).toContain(`images/${name}.svg`)
      expect(existsSync(join(DOCS, 'images', `${name}.svg`))).toBe(true)
    }
  })
})

describe('what is run', () => {
  const asked = { suites, standings, names: [], quick: false, verify: false }
  const paths = (works: ReturnType<typeof choose>) => works.map(({ suite, benchmark }) => `${suite}/${benchmark.name}`)

  test('is everything, or what is named', () => {
    expect(paths(choose(asked)).length).toBe(suites.flatMap(({ benchmarks }) => benchmarks(false)).length)
    expect(paths(choose({ ...asked, names: ['reduce/paced', 'patch'] }))).toEqual(['reduce/paced', 'patch/apply'])
    expect(() => choose({ ...asked, names: ['nothing'] })).toThrow(NothingAsked)
  })

  test('is who stands in the table, where it is verified', () => {
    const works = choose({ ...asked, verify: true })
    const needed = new Set(standings.flatMap(row => [...needsOf(row).keys()]))
    expect(new Set(paths(works))).toEqual(needed)
    const few = works.filter(({ rounds }) => rounds < 5).map(({ suite, benchmark }) => `${suite}/${benchmark.name}`)
    const claimed = standings.filter(claims).flatMap(row => [...needsOf(row).keys()])
    expect(claimed.filter(path => few.includes(path))).toEqual([])
    const batches = works.find(({ suite, benchmark }) => `${suite}/${benchmark.name}` === 'reduce/batches')
    expect(batches?.benchmark.contenders.map(({ name }) => name)).not.toContain('millrace, 1 a batch')
  })

  test('is all that a row needs, where one is named and verified', () => {
    expect(paths(choose({ ...asked, names: ['json/large'], verify: true }))).toEqual(['json/large', 'json/growth'])
    expect(() => choose({ ...asked, names: ['reduce/paced'], verify: true })).toThrow(NothingAsked)
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
    const drawn = growthChart(chart, measuredWith(five(20))) ?? ''
    expect(drawn.match(/<polyline/g)).toHaveLength(1)
    expect(drawn.match(/<circle/g)).toHaveLength(3)
    expect(drawn).toContain('a &lt; b')
    expect(growthChart(chart, new Map())).toBeUndefined()
  })

  test('of ratios has a bar for each row with a peer, to the left of one where ours is ahead', () => {
    const stands = [
      stand(standing, measuredWith(five(12))),
      stand({ ...standing, job: 'idling', peers: [] }, measuredWith(five(1))),
    ]
    const drawn = ratioChart(stands)
    expect(drawn.match(/<rect /g)).toHaveLength(2)
    expect([drawn.includes('grinding'), drawn.includes('idling')]).toEqual([true, false])
  })
})
