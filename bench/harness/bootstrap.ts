import { sequence } from '../fixtures/random.ts'
import { median } from './statistics.ts'

/** Where a figure lies, by what resampling its rounds gives nineteen times out of twenty. */
export interface Interval {
  low: number
  high: number
  rounds: number
}

const RESAMPLES = 2000
/** The share that is left out at each end. */
const LEFT_OUT = 0.025

/**
 * The 95 % interval of the median, by the percentile bootstrap; the same for the same values. Of five values it is their whole range.
 */
export function interval(values: readonly number[]): Interval {
  const next = sequence(values.length)
  const draw = () => values[next(values.length)] ?? Number.NaN
  const medians = Array.from({ length: RESAMPLES }, () => median(values.map(draw))).toSorted((a, b) => a - b)
  const at = (share: number) => medians[Math.round(share * (RESAMPLES - 1))] ?? Number.NaN
  return { low: at(LEFT_OUT), high: at(1 - LEFT_OUT), rounds: values.length }
}

/** `pass` where all of an interval keeps to a bound, `fail` where none of it does, `undecided` where the rounds do not tell, `unmeasured` where there is no figure. */
export type Ruling = 'pass' | 'fail' | 'undecided' | 'unmeasured'

/** So few rounds that the interval holds the figure less often than it says. */
export const LEAST_ROUNDS = 5

/** Holds an interval against what its figure is to be at most; too few rounds decide nothing. */
export function held({ low, high, rounds }: Interval, atMost: number): Ruling {
  if (!(low > 0) || !Number.isFinite(high)) return 'unmeasured'
  if (rounds < LEAST_ROUNDS) return 'undecided'
  if (high <= atMost) return 'pass'
  return low > atMost ? 'fail' : 'undecided'
}

/** The worse of two: one that fails is not made good by another. */
export function worse(a: Ruling, b: Ruling): Ruling {
  const order: readonly Ruling[] = ['unmeasured', 'fail', 'undecided', 'pass']
  return order.indexOf(a) < order.indexOf(b) ? a : b
}
