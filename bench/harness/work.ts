import { LEAST_ROUNDS } from './bootstrap.ts'
import { claims, needsOf, type Standing } from './standing.ts'
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

/** What was asked for cannot be run: the message says why, and what can. */
export class NothingAsked extends Error {}

const ROUNDS = { quick: 3, full: 5 }
/** The rounds of a quick look at everything, which is to be over in two minutes. */
const GLANCE = 2

/** What is to be run for what was asked, in the order of the suites. */
export function choose({ suites, standings, names, quick, verify }: Asked): Work[] {
  const all = suites.flatMap(suite => suite.benchmarks(quick).map(benchmark => ({ suite: suite.name, benchmark })))
  const pathOf = ({ suite, benchmark }: (typeof all)[number]) => `${suite}/${benchmark.name}`
  const isAsked = (path: string) =>
    names.length === 0 || names.some(name => path === name || path.startsWith(`${name}/`))
  const stranger = names.find(name => !all.some(work => pathOf(work) === name || work.suite === name))
  if (stranger !== undefined) {
    throw new NothingAsked(`no benchmark '${stranger}', there are: ${all.map(pathOf).join(', ')}`)
  }
  const isGlance = quick && names.length === 0
  const roundsOf = ({ rounds = quick ? ROUNDS.quick : ROUNDS.full }: Benchmark, isClaimed = false) => {
    if (isGlance) return GLANCE
    return isClaimed && !quick ? Math.max(rounds, LEAST_ROUNDS) : rounds
  }
  if (!isGlance && !verify) {
    return all.filter(work => isAsked(pathOf(work))).map(work => ({ ...work, rounds: roundsOf(work.benchmark) }))
  }
  const needed = standings
    .filter(row => isAsked(row.benchmark) && (!isGlance || row.quick))
    .map(row => ({ row, needs: needsOf(row) }))
  const works = all.flatMap(work => {
    const rows = needed.filter(({ needs }) => needs.has(pathOf(work)))
    const wanted = new Set(rows.flatMap(({ needs }) => [...(needs.get(pathOf(work)) ?? [])]))
    const contenders = work.benchmark.contenders.filter(({ name }) => wanted.has(name))
    if (contenders.length === 0) return []
    // Its own targets may name who is not measured now.
    const benchmark = { ...work.benchmark, contenders, claims: [] }
    const isClaimed = rows.some(({ row }) => claims(row))
    return [{ suite: work.suite, benchmark, rounds: roundsOf(benchmark, isClaimed) }]
  })
  if (works.length > 0) return works
  throw new NothingAsked(
    `nothing of ${names.join(', ')} stands in the table, so nothing is claimed of it: ask without --verify`,
  )
}
