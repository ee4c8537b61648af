import type { Sample } from './measure.ts'
import { measureInChild } from './measure-in-child.ts'
import { type Spread, spreadOf } from './statistics.ts'
import type { Benchmark, Contender, Unit } from './suite.ts'

/** Measurements of one contender over all rounds, or the error that prevented them. */
export interface Row {
  name: string
  kind: Contender['kind']
  unit: Unit
  /** Items in one measured load. `size` is the items in one piece of it. */
  items: number
  size: number
  samples: Sample[]
  /** By unit: CPU or wall time per load in ms, median latency in ms, bytes per item, or count per item. */
  value: Spread
  /** 99th percentile of the latency, in ms. */
  p99?: Spread
  /** Median per item: time in ns, latency in ms, bytes, or count. */
  perItem: number
  error?: string
}

/** Runs every contender once per round, interleaved, so that changes in machine load affect all. Each round starts with another contender, so that the order varies. */
export async function runRounds(
  suite: string,
  benchmark: Benchmark,
  rounds: number,
  quick: boolean,
  progress: (text: string) => void,
): Promise<Row[]> {
  const samples = new Map<string, Sample[]>(benchmark.contenders.map(({ name }) => [name, []]))
  const errors = new Map<string, string>()
  for (let round = 1; round <= rounds; round++) {
    const first = (round - 1) % benchmark.contenders.length
    for (const { name } of [...benchmark.contenders.slice(first), ...benchmark.contenders.slice(0, first)]) {
      if (errors.has(name)) continue
      progress(`${suite}/${benchmark.name} ${round}/${rounds} ${name}`)
      const report = await measureInChild(suite, benchmark.name, name, quick)
      if ('error' in report) errors.set(name, report.error)
      else samples.get(name)?.push(report.sample)
    }
  }
  const { unit = 'cpu', contenders } = benchmark
  return contenders.map(contender => toRow(contender, unit, samples.get(contender.name) ?? [], errors))
}

/** Rows of a benchmark that could not run. */
export function failedRows({ unit = 'cpu', contenders }: Benchmark, error: string): Row[] {
  return contenders.map(contender => toRow(contender, unit, [], new Map([[contender.name, error]])))
}

/** Cost of one item in the unit's terms: ns, ms of latency, bytes or count. */
export function perItem({ cpu, wall, p50 = Number.NaN }: Sample, unit: Unit, items: number): number {
  if (unit !== 'cpu' && unit !== 'wall') return p50
  return ((unit === 'cpu' ? cpu : wall) * 1e6) / items
}

function toRow(
  { name, kind, load }: Contender,
  unit: Unit,
  samples: Sample[],
  errors: ReadonlyMap<string, string>,
): Row {
  const items = load.pieces * load.items
  const isTime = unit === 'cpu' || unit === 'wall'
  const value = spreadOf(samples.map(sample => (isTime ? sample[unit] : perItem(sample, unit, items))))
  const row: Row = {
    name,
    kind,
    unit,
    items,
    size: load.items,
    samples,
    value,
    perItem: isTime ? (value.median * 1e6) / items : value.median,
  }
  if (unit === 'latency') row.p99 = spreadOf(samples.map(({ p99 = Number.NaN }) => p99))
  const error = errors.get(name)
  return error === undefined ? row : { ...row, error }
}
