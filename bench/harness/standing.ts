import { held, type Interval, interval, type Ruling, worse } from './bootstrap.ts'
import { perItem, type Row } from './rounds.ts'
import { median } from './statistics.ts'
import type { Unit } from './suite.ts'

/** The cost of the same work at two sizes: where each is measured, and how large it is if not as the contender's load says. */
interface Growth {
  benchmark?: string
  small: string
  large: string
  sizes?: readonly [small: number, large: number]
}

/** A row of the one table: a job that people have, who does it, and what the documentation claims of it. */
export interface Standing {
  job: string
  /** `suite/benchmark`, and its contenders by their names. */
  benchmark: string
  ours: string
  peers?: readonly string[]
  /** Peers of the benchmark that do not stand in the row: a part of their names, and the reason. */
  leftOut?: readonly (readonly [part: string, reason: string])[]
  floor?: string
  growth?: Growth
  /** What one item in a hundred exceeds is compared, and not the middle. */
  tail?: true
  /** What is claimed: ours takes at most so much of what any of the peers takes, or of the floor. */
  atMost?: number
  atMostOfFloor?: number
  /** Why a peer is ahead of us, where one is. */
  ahead?: string
  /** It is one of the few that are measured where there is little time. */
  quick?: true
}

/** Every growth is claimed to stay under this. */
const MOST_GROWTH = 1.1

/** A figure of ours over another's: by the medians, with the interval of the single rounds. */
export interface Compared extends Interval {
  value: number
}

/** What is claimed of a figure, and whether it holds. */
interface Held {
  claim: 'peer' | 'floor' | 'growth'
  atMost: number
  ruling: Ruling
}

/** A row, measured. What could not be measured is not there. */
export interface Stand {
  job: string
  benchmark: string
  unit: Unit
  tail?: true
  ours?: number
  /** What one item in a hundred exceeds, of ours and of the best peer, where the items have latencies. */
  p99?: { ours: number; peer?: number }
  peer?: { name: string; cost: number } & Compared
  floor?: { cost: number } & Compared
  growth?: Compared
  ahead?: string
  /** All that is claimed of the row. */
  held: Held[]
}

/** Each benchmark's rows, by `suite/benchmark`. */
export type Measured = ReadonlyMap<string, readonly Row[]>

/** The contenders a row needs, by benchmark. */
export function needsOf({ benchmark, ours, peers = [], floor, growth }: Standing): Map<string, Set<string>> {
  const needs = new Map([[benchmark, new Set([ours, ...peers, ...(floor === undefined ? [] : [floor])])]])
  if (growth === undefined) return needs
  const where = growth.benchmark ?? benchmark
  return needs.set(where, new Set([...(needs.get(where) ?? []), growth.small, growth.large]))
}

/** Whether anything is claimed of a row. */
export function claims({ atMost, atMostOfFloor, growth }: Standing): boolean {
  return atMost !== undefined || atMostOfFloor !== undefined || growth !== undefined
}

/** What was measured of a row, and whether what is claimed of it holds: of all that is claimed, something is said. */
export function stand(standing: Standing, measured: Measured): Stand {
  const { job, benchmark, tail, atMost, atMostOfFloor, growth, ahead } = standing
  const find = (name: string | undefined, where = benchmark) => {
    const row = measured.get(where)?.find(row => row.name === name)
    return row?.error === undefined ? row : undefined
  }
  const ours = find(standing.ours)
  const peers = (standing.peers ?? []).map(name => find(name))
  const floor = find(standing.floor)
  const against = (row: Row | undefined) => (ours && row ? compared(each(ours, tail), each(row, tail)) : undefined)
  const made: Stand = { job, benchmark, unit: ours?.unit ?? 'cpu', held: [], ...(tail && { tail }) }
  if (ahead !== undefined) made.ahead = ahead
  if (ours) made.ours = median(each(ours, tail))
  const costOf = (row: Row) => median(each(row, tail))
  const best = peers.filter(row => row !== undefined).toSorted((a, b) => costOf(a) - costOf(b))[0]
  const [overBest, overFloor] = [against(best), against(floor)]
  if (best && overBest) made.peer = { name: best.name, cost: costOf(best), ...overBest }
  if (ours?.unit === 'latency' && !tail) {
    const p99 = (row: Row) => median(each(row, true))
    made.p99 = { ours: p99(ours), ...(best && { peer: p99(best) }) }
  }
  if (floor && overFloor) made.floor = { cost: costOf(floor), ...overFloor }
  const grown = growth && growthOf(growth, find(growth.small, growth.benchmark), find(growth.large, growth.benchmark))
  if (grown) made.growth = grown
  const rule = (figure: Compared | undefined, bound: number) => (figure ? held(figure, bound) : 'unmeasured')
  if (atMost !== undefined) {
    // The cheapest by its median need not be the one that ours is beaten by.
    const ruling = peers.map(row => rule(against(row), atMost)).reduce(worse, 'pass')
    made.held.push({ claim: 'peer', atMost, ruling })
  }
  if (atMostOfFloor !== undefined) {
    made.held.push({ claim: 'floor', atMost: atMostOfFloor, ruling: rule(overFloor, atMostOfFloor) })
  }
  if (growth) made.held.push({ claim: 'growth', atMost: MOST_GROWTH, ruling: rule(grown, MOST_GROWTH) })
  return made
}

/** How the cost of the whole grows with its size: 1 is linear. */
function growthOf({ sizes }: Growth, small: Row | undefined, large: Row | undefined): Compared | undefined {
  if (!small || !large) return undefined
  const [from, to] = sizes ?? [small.size, large.size]
  const exponent = (ratio: number) => 1 + Math.log(ratio) / Math.log(to / from)
  const { value, low, high, rounds } = compared(each(large), each(small))
  return { value: exponent(value), low: exponent(low), high: exponent(high), rounds }
}

/** What each round says of one item. */
function each({ samples, unit, items }: Row, tail = false): number[] {
  return samples.map(sample => (tail ? (sample.p99 ?? Number.NaN) : perItem(sample, unit, items)))
}

/** The rounds are interleaved: each is compared with the one beside it. */
function compared(over: number[], under: number[]): Compared {
  const rounds = over.map((value, i) => value / (under[i] ?? Number.NaN))
  return { value: median(over) / median(under), ...interval(rounds) }
}
