import { held, type Interval, interval, type Ruling } from './bootstrap.ts'
import { perItem, type Row } from './rounds.ts'
import { median } from './statistics.ts'
import type { Unit } from './suite.ts'

/** The cost of the same work at two sizes: where each is measured, and how large it is if not as the contender's load says. */
export interface Growth {
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
  floor?: string
  growth?: Growth
  /** What one item in a hundred exceeds is compared, and not the middle. */
  tail?: true
  /** What is claimed: ours takes at most so much of what the best of the peers takes, or of the floor. */
  atMost?: number
  atMostOfFloor?: number
  /** Why a peer is ahead of us, where one is. */
  ahead?: string
  /** It is one of the few that are measured where there is little time. */
  quick?: true
}

/** Every growth is claimed to stay under this. */
export const MOST_GROWTH = 1.1

/** A figure of ours over another's: by the medians, with the interval of the single rounds. */
export interface Compared extends Interval {
  value: number
}

/** What is claimed of a figure, and whether it holds. */
export interface Held {
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
  peer?: { name: string; cost: number } & Compared
  floor?: { cost: number } & Compared
  growth?: Compared
  ahead?: string
  held: Held[]
  /** Who failed, so that a claim cannot be held against anything. */
  failed: string[]
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

/** What was measured of a row, and whether what is claimed of it holds. Contenders that were not measured are left out. */
export function stand(standing: Standing, measured: Measured): Stand {
  const { job, benchmark, tail, atMost, atMostOfFloor, growth, ahead } = standing
  const find = (name: string | undefined, where = benchmark) => measured.get(where)?.find(row => row.name === name)
  const failed = [...needsOf(standing)].flatMap(([where, names]) =>
    [...names].filter(name => find(name, where)?.error !== undefined),
  )
  const usable = (row: Row | undefined): row is Row => row !== undefined && row.error === undefined
  const ours = find(standing.ours)
  const made: Stand = { job, benchmark, unit: ours?.unit ?? 'cpu', held: [], failed, ...(tail && { tail }) }
  if (ahead !== undefined) made.ahead = ahead
  const claim = (name: Held['claim'], figure: Compared, bound: number | undefined) => {
    if (bound !== undefined) made.held.push({ claim: name, atMost: bound, ruling: held(figure, bound) })
  }
  if (usable(ours)) {
    const costs = (row: Row) => each(row, tail)
    made.ours = median(costs(ours))
    const peers = (standing.peers ?? []).map(name => find(name)).filter(usable)
    const best = peers.toSorted((a, b) => median(costs(a)) - median(costs(b)))[0]
    if (best) {
      made.peer = { name: best.name, cost: median(costs(best)), ...compared(costs(ours), costs(best)) }
      claim('peer', made.peer, atMost)
    }
    const floor = find(standing.floor)
    if (usable(floor)) {
      made.floor = { cost: median(costs(floor)), ...compared(costs(ours), costs(floor)) }
      claim('floor', made.floor, atMostOfFloor)
    }
  }
  const [small, large] = [find(growth?.small, growth?.benchmark), find(growth?.large, growth?.benchmark)]
  if (usable(small) && usable(large)) {
    const [from, to] = growth?.sizes ?? [small.size, large.size]
    const exponent = (ratio: number) => 1 + Math.log(ratio) / Math.log(to / from)
    const { value, low, high } = compared(each(large), each(small))
    made.growth = { value: exponent(value), low: exponent(low), high: exponent(high) }
    claim('growth', made.growth, MOST_GROWTH)
  }
  return made
}

/** What each round says of one item. */
function each({ samples, unit, items }: Row, tail = false): number[] {
  return samples.map(sample => (tail ? (sample.p99 ?? Number.NaN) : perItem(sample, unit, items)))
}

/** The rounds are interleaved: each is compared with the one beside it. */
function compared(over: number[], under: number[]): Compared {
  const rounds = over.map((value, i) => value / (under[i] ?? Number.NaN)).filter(Number.isFinite)
  return { value: median(over) / median(under), ...interval(rounds) }
}
