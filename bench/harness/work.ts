import { needsOf, type Standing } from './standing.ts'
import type { Benchmark, Suite } from './suite.ts'

/** A benchmark that is to be run, so often. */
export interface Work {
  suite: string
  benchmark: Benchmark
  rounds: number
}

/** What somebody asks for. */
export interface Asked {
  suites: readonly Suite[]
  standings: readonly Standing[]
  /** Suites or benchmarks; none means all. */
  names: readonly string[]
  /** Little time: where nothing is named, the rows of the one table that are marked for it, and of those only who stands in them. */
  quick: boolean
  /** The rows of the one table alone, and only who stands in them. */
  verify: boolean
}

/** No suite and no benchmark has that name. */
export class UnknownName extends Error {}

const ROUNDS = { quick: 3, full: 5 }
/** The rounds of a quick look at everything, which is to be over in two minutes. */
const GLANCE = 2

/** What is to be run for what was asked, in the order of the suites. */
export function choose({ suites, standings, names, quick, verify }: Asked): Work[] {
  const all = suites.flatMap(suite => suite.benchmarks(quick).map(benchmark => ({ suite: suite.name, benchmark })))
  const pathOf = ({ suite, benchmark }: (typeof all)[number]) => `${suite}/${benchmark.name}`
  const asks = (name: string) => (work: (typeof all)[number]) => work.suite === name || pathOf(work) === name
  const stranger = names.find(name => !all.some(asks(name)))
  if (stranger !== undefined) {
    throw new UnknownName(`no benchmark '${stranger}', there are: ${all.map(pathOf).join(', ')}`)
  }
  const isGlance = quick && names.length === 0
  const rows = standings.filter(row => !isGlance || row.quick)
  const needed = isGlance || verify ? rows.map(needsOf) : undefined
  return all
    .filter(work => names.length === 0 || names.some(name => asks(name)(work)))
    .flatMap(work => {
      const { suite, benchmark } = work
      const rounds = isGlance ? GLANCE : (benchmark.rounds ?? (quick ? ROUNDS.quick : ROUNDS.full))
      if (needed === undefined) return [{ suite, benchmark, rounds }]
      const wanted = new Set(needed.flatMap(needs => [...(needs.get(pathOf(work)) ?? [])]))
      const contenders = benchmark.contenders.filter(({ name }) => wanted.has(name))
      if (contenders.length === 0) return []
      // Its own targets may name who is not measured now.
      return [{ suite, benchmark: { ...benchmark, contenders, claims: [] }, rounds }]
    })
}
