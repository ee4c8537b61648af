import { MIN_ROUNDS } from './interval.ts'
import { hasClaim, needsOf, type Standing } from './standing.ts'
import type { Benchmark, Suite } from './suite.ts'

/** A benchmark to run, with its number of rounds. */
export interface SelectedBenchmark {
  suite: string
  benchmark: Benchmark
  rounds: number
}

/** Command line arguments, with the suites to select from. */
export interface BenchmarkSelection {
  suites: readonly Suite[]
  standings: readonly Standing[]
  /** Names of suites or benchmarks. Empty selects all. */
  names: readonly string[]
  /** Fewer rounds. Without names, only the standings rows with `quick`, and only their contenders. */
  quick: boolean
  /** Only the standings rows and their contenders. */
  verify: boolean
}

/** The arguments select no benchmark. */
export class SelectionError extends Error {}

const ROUNDS = { quick: 3, full: 5 }
/** Rounds of `--quick` without names, which has to finish in two minutes. */
const OVERVIEW_ROUNDS = 2

/** Selects the benchmarks to run, in the order of the suites. */
export function selectBenchmarks({ suites, standings, names, quick, verify }: BenchmarkSelection): SelectedBenchmark[] {
  const all = suites.flatMap(suite => suite.benchmarks(quick).map(benchmark => ({ suite: suite.name, benchmark })))
  const pathOf = ({ suite, benchmark }: (typeof all)[number]) => `${suite}/${benchmark.name}`
  const isNamed = (path: string) =>
    names.length === 0 || names.some(name => path === name || path.startsWith(`${name}/`))
  const unknown = names.find(name => !all.some(candidate => pathOf(candidate) === name || candidate.suite === name))
  if (unknown !== undefined) {
    throw new SelectionError(`unknown benchmark '${unknown}', expected one of: ${all.map(pathOf).join(', ')}`)
  }
  const isOverview = quick && names.length === 0
  const roundsOf = ({ rounds = quick ? ROUNDS.quick : ROUNDS.full }: Benchmark, isClaimed = false) => {
    if (isOverview) return OVERVIEW_ROUNDS
    return isClaimed && !quick ? Math.max(rounds, MIN_ROUNDS) : rounds
  }
  if (!isOverview && !verify) {
    return all
      .filter(candidate => isNamed(pathOf(candidate)))
      .map(candidate => ({ ...candidate, rounds: roundsOf(candidate.benchmark) }))
  }
  const needed = standings
    .filter(row => isNamed(row.benchmark) && (!isOverview || row.quick))
    .map(row => ({ row, needs: needsOf(row) }))
  const selected = all.flatMap(candidate => {
    const rows = needed.filter(({ needs }) => needs.has(pathOf(candidate)))
    const contenderNames = new Set(rows.flatMap(({ needs }) => [...(needs.get(pathOf(candidate)) ?? [])]))
    const contenders = candidate.benchmark.contenders.filter(({ name }) => contenderNames.has(name))
    if (contenders.length === 0) return []
    // The benchmark's own claims can name contenders that are not selected.
    const benchmark = { ...candidate.benchmark, contenders, claims: [] }
    const isClaimed = rows.some(({ row }) => hasClaim(row))
    return [{ suite: candidate.suite, benchmark, rounds: roundsOf(benchmark, isClaimed) }]
  })
  if (selected.length > 0) return selected
  throw new SelectionError(
    `${names.join(', ')} has no row in the standings table, so there is no claim to verify: run it without --verify`,
  )
}
