import { sequence } from '../fixtures/random.ts'
import { median } from './statistics.ts'

/** Where a figure lies, by what resampling its rounds gives nineteen times out of twenty. */
export interface Interval {
  low: number
  high: number
}

const RESAMPLES = 2000
/** The share that is left out at each end. */
const LEFT_OUT = 0.025

/**
 * The 95 % interval of the median, by the percentile bootstrap; the same for the same values. Of five values or fewer it is their whole range: so few
 * rounds can only be wrong all in the same direction.
 */
export function interval(values: readonly number[]): Interval {
  const next = sequence(values.length)
  const draw = () => values[next(values.length)] ?? Number.NaN
  const medians = Array.from({ length: RESAMPLES }, () => median(values.map(draw))).toSorted((a, b) => a - b)
  const at = (share: number) => medians[Math.round(share * (RESAMPLES - 1))] ?? Number.NaN
  return { low: at(LEFT_OUT), high: at(1 - LEFT_OUT) }
}

/** `pass` where all of an interval keeps to a bound, `fail` where none of it does, `undecided` where the rounds do not tell. */
export type Ruling = 'pass' | 'fail' | 'undecided'

/** Holds an interval against what its figure is to be at most. */
export function held({ low, high }: Interval, atMost: number): Ruling {
  if (high <= atMost) return 'pass'
  return low > atMost ? 'fail' : 'undecided'
}
