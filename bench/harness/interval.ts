import { seededRandom } from '../fixtures/random.ts'
import { median } from './statistics.ts'

/** 95 % confidence interval of a figure, from resampled rounds. */
export interface Interval {
  low: number
  high: number
  rounds: number
}

const RESAMPLES = 2000
/** Share of the resampled medians that is cut off at each end. */
const LEFT_OUT = 0.025

/**
 * Returns the 95 % interval of the median by the percentile bootstrap. Deterministic. For five values it is their full range.
 */
export function interval(values: readonly number[]): Interval {
  const next = seededRandom(values.length)
  const draw = () => values[next(values.length)] ?? Number.NaN
  const medians = Array.from({ length: RESAMPLES }, () => median(values.map(draw))).toSorted((a, b) => a - b)
  const at = (share: number) => medians[Math.round(share * (RESAMPLES - 1))] ?? Number.NaN
  return { low: at(LEFT_OUT), high: at(1 - LEFT_OUT), rounds: values.length }
}

/** `pass`: the interval is completely within the bound. `fail`: it is completely beyond it. `undecided`: the bound lies inside, or there are too few rounds. `unmeasured`: no figure. */
export type Ruling = 'pass' | 'fail' | 'undecided' | 'unmeasured'

/** With fewer rounds the interval covers the figure less often than 95 %. */
export const MIN_ROUNDS = 5

/** Compares an interval with an upper bound. Fewer than `MIN_ROUNDS` rounds give `undecided`. */
export function ruleInterval({ low, high, rounds }: Interval, atMost: number): Ruling {
  if (!(low > 0) || !Number.isFinite(high)) return 'unmeasured'
  if (rounds < MIN_ROUNDS) return 'undecided'
  if (high <= atMost) return 'pass'
  return low > atMost ? 'fail' : 'undecided'
}

/** Returns the worse of two rulings. */
export function worseRuling(a: Ruling, b: Ruling): Ruling {
  const order: readonly Ruling[] = ['unmeasured', 'fail', 'undecided', 'pass']
  return order.indexOf(a) < order.indexOf(b) ? a : b
}
