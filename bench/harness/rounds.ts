import type { Sample } from './meter.ts'
import { measureApart } from './process.ts'
import { median } from './statistics.ts'
import type { Benchmark, Contender } from './suite.ts'

/** What all rounds measured of one contender, or why there is nothing to say. */
export interface Row {
  name: string
  kind: Contender['kind']
  /** Items in one measured load, and in one piece of it. */
  items: number
  size: number
  samples: Sample[]
  /** Median, least and most CPU milliseconds of a load. */
  cpu: { median: number; min: number; max: number }
  /** Median CPU nanoseconds. */
  perItem: number
  error?: string
}

/** Runs every contender once a round, in turn, so that a change in the machine's load falls on all of them. */
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
    for (const { name } of benchmark.contenders) {
      if (errors.has(name)) continue
      progress(`${suite}/${benchmark.name} ${round}/${rounds} ${name}`)
      const report = await measureApart(suite, benchmark.name, name, quick)
      if ('error' in report) errors.set(name, report.error)
      else samples.get(name)?.push(report.sample)
    }
  }
  return benchmark.contenders.map(contender => toRow(contender, samples.get(contender.name) ?? [], errors))
}

function toRow({ name, kind, load }: Contender, samples: Sample[], errors: ReadonlyMap<string, string>): Row {
  const items = load.pieces * load.items
  const cpus = samples.map(({ cpu }) => cpu)
  const cpu = { median: median(cpus), min: Math.min(...cpus), max: Math.max(...cpus) }
  const error = errors.get(name)
  const row = { name, kind, items, size: load.items, samples, cpu, perItem: (cpu.median * 1e6) / items }
  return error === undefined ? row : { ...row, error }
}
