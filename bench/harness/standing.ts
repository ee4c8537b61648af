import { type Interval, interval, type Ruling, ruleInterval, worseRuling } from './interval.ts'
import { perItem, type Row } from './run-rounds.ts'
import { median } from './statistics.ts'
import type { Unit } from './suite.ts'

/** Cost of the same work at two sizes. `sizes` overrides the sizes of the contenders' loads. */
interface Growth {
  benchmark?: string
  small: string
  large: string
  sizes?: readonly [small: number, large: number]
}

/** A row of the standings table: a job, its contenders, and the claims of the documentation. */
export interface Standing {
  job: string
  /** `suite/benchmark`. The fields below name its contenders. */
  benchmark: string
  ours: string
  peers?: readonly string[]
  /** Peers of the benchmark that are not part of the row: a substring of their names, and the reason. */
  excluded?: readonly (readonly [part: string, reason: string])[]
  floor?: string
  growth?: Growth
  /** Compares the 99th percentile instead of the median. */
  tail?: true
  /** Claims: the cost of ours is at most this multiple of every peer's cost, or of the floor's. */
  atMost?: number
  atMostOfFloor?: number
  /** Why a peer is ahead. */
  aheadReason?: string
  /** Part of `--quick`. */
  quick?: true
}

/** Claimed upper bound of every growth exponent. */
const MAX_GROWTH = 1.1

/** Ratio of two costs: quotient of the medians, with the interval over single rounds. */
export interface Comparison extends Interval {
  value: number
}

/** A claim and its ruling. */
interface ClaimResult {
  claim: 'peer' | 'floor' | 'growth'
  atMost: number
  ruling: Ruling
}

/** A measured row. Figures that could not be measured are absent. */
export interface StandingResult {
  job: string
  benchmark: string
  unit: Unit
  tail?: true
  ours?: number
  /** 99th percentiles of ours and of the best peer. Only for latencies. */
  p99?: { ours: number; peer?: number }
  peer?: { name: string; cost: number } & Comparison
  floor?: { cost: number } & Comparison
  growth?: Comparison
  aheadReason?: string
  /** Results of all claims of the row. */
  claims: ClaimResult[]
}

/** Rows of each benchmark, by `suite/benchmark`. */
export type Measured = ReadonlyMap<string, readonly Row[]>

/** Contenders that a row needs, by benchmark. */
export function needsOf({ benchmark, ours, peers = [], floor, growth }: Standing): Map<string, Set<string>> {
  const needs = new Map([[benchmark, new Set([ours, ...peers, ...(floor === undefined ? [] : [floor])])]])
  if (growth === undefined) return needs
  const path = growth.benchmark ?? benchmark
  return needs.set(path, new Set([...(needs.get(path) ?? []), growth.small, growth.large]))
}

/** Whether a row has a claim. */
export function hasClaim({ atMost, atMostOfFloor, growth }: Standing): boolean {
  return atMost !== undefined || atMostOfFloor !== undefined || growth !== undefined
}

/** Evaluates a row. Every claim gets a ruling, `unmeasured` if a contender is missing or failed. */
export function evaluateStanding(standing: Standing, measured: Measured): StandingResult {
  const { job, benchmark, tail, atMost, atMostOfFloor, growth, aheadReason } = standing
  const find = (name: string | undefined, path = benchmark) => {
    const row = measured.get(path)?.find(row => row.name === name)
    return row?.error === undefined ? row : undefined
  }
  const ours = find(standing.ours)
  const peers = (standing.peers ?? []).map(name => find(name))
  const floor = find(standing.floor)
  const compareWith = (row: Row | undefined) => (ours && row ? compare(costs(ours, tail), costs(row, tail)) : undefined)
  const result: StandingResult = { job, benchmark, unit: ours?.unit ?? 'cpu', claims: [], ...(tail && { tail }) }
  if (aheadReason !== undefined) result.aheadReason = aheadReason
  if (ours) result.ours = median(costs(ours, tail))
  const costOf = (row: Row) => median(costs(row, tail))
  const best = peers.filter(row => row !== undefined).toSorted((a, b) => costOf(a) - costOf(b))[0]
  const [overBest, overFloor] = [compareWith(best), compareWith(floor)]
  if (best && overBest) result.peer = { name: best.name, cost: costOf(best), ...overBest }
  if (ours?.unit === 'latency' && !tail) {
    const p99 = (row: Row) => median(costs(row, true))
    result.p99 = { ours: p99(ours), ...(best && { peer: p99(best) }) }
  }
  if (floor && overFloor) result.floor = { cost: costOf(floor), ...overFloor }
  const growthResult =
    growth && growthOf(growth, find(growth.small, growth.benchmark), find(growth.large, growth.benchmark))
  if (growthResult) result.growth = growthResult
  const rule = (figure: Comparison | undefined, bound: number) => (figure ? ruleInterval(figure, bound) : 'unmeasured')
  if (atMost !== undefined) {
    // The peer with the lowest median is not necessarily the one that breaks the claim.
    const ruling = peers.map(row => rule(compareWith(row), atMost)).reduce(worseRuling, 'pass')
    result.claims.push({ claim: 'peer', atMost, ruling })
  }
  if (atMostOfFloor !== undefined) {
    result.claims.push({ claim: 'floor', atMost: atMostOfFloor, ruling: rule(overFloor, atMostOfFloor) })
  }
  if (growth) result.claims.push({ claim: 'growth', atMost: MAX_GROWTH, ruling: rule(growthResult, MAX_GROWTH) })
  return result
}

/** Growth exponent of the total cost. 1 is linear. */
function growthOf({ sizes }: Growth, small: Row | undefined, large: Row | undefined): Comparison | undefined {
  if (!small || !large) return undefined
  const [from, to] = sizes ?? [small.size, large.size]
  const exponent = (ratio: number) => 1 + Math.log(ratio) / Math.log(to / from)
  const { value, low, high, rounds } = compare(costs(large), costs(small))
  return { value: exponent(value), low: exponent(low), high: exponent(high), rounds }
}

/** Cost of one item in each round. */
function costs({ samples, unit, items }: Row, tail = false): number[] {
  return samples.map(sample => (tail ? (sample.p99 ?? Number.NaN) : perItem(sample, unit, items)))
}

/** Rounds are interleaved, so each round is compared with the same round of the other contender. */
function compare(over: number[], under: number[]): Comparison {
  const rounds = over.map((value, i) => value / (under[i] ?? Number.NaN))
  return { value: median(over) / median(under), ...interval(rounds) }
}
