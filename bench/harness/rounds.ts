import type { Sample } from './meter.ts'
import { measureApart } from './process.ts'
import { type Spread, spread } from './statistics.ts'
import type { Benchmark, Contender, Unit } from './suite.ts'

/** What all rounds measured of one contender, or why there is nothing to say. */
export interface Row {
  name: string
  kind: Contender['kind']
  unit: Unit
  /** Items in one measured load, and in one piece of it. */
  items: number
  size: number
  samples: Sample[]
  /** Milliseconds a load, of CPU or by the clock; the middle latency in milliseconds; bytes, or times, an item. */
  value: Spread
  /** The latency that one item in a hundred exceeds. */
  p99?: Spread
  /** The median for one item: nanoseconds, the latency in milliseconds, bytes, or times. */
  perItem: number
  error?: string
}

/** Runs every contender once a round, in turn, so that a change in the machine's load falls on all of them; each round begins with another, so that nobody always follows the same. */
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
      const report = await measureApart(suite, benchmark.name, name, quick)
      if ('error' in report) errors.set(name, report.error)
      else samples.get(name)?.push(report.sample)
    }
  }
  const { unit = 'cpu', contenders } = benchmark
  return contenders.map(contender => toRow(contender, unit, samples.get(contender.name) ?? [], errors))
}

/** A benchmark of which nothing could be measured. */
export function failedRows({ unit = 'cpu', contenders }: Benchmark, error: string): Row[] {
  return contenders.map(contender => toRow(contender, unit, [], new Map([[contender.name, error]])))
}

/** What a sample says of one item, in the unit's own terms. */
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
  const value = spread(samples.map(sample => (isTime ? sample[unit] : perItem(sample, unit, items))))
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
  if (unit === 'latency') row.p99 = spread(samples.map(({ p99 = Number.NaN }) => p99))
  const error = errors.get(name)
  return error === undefined ? row : { ...row, error }
}
