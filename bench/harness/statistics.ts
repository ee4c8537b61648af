/** Median and range of a figure over several rounds. */
export interface Spread {
  median: number
  min: number
  max: number
}

/** Median. For an even number of values it is the mean of the middle two. */
export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const high = sorted[middle] ?? Number.NaN
  return sorted.length % 2 ? high : ((sorted[middle - 1] ?? Number.NaN) + high) / 2
}

export function spreadOf(values: number[]): Spread {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) }
}

/** Smallest value that at least `share` of the values do not exceed. */
export function quantile(values: number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN
}

/** Growth exponent e (cost of a piece ~ size^e), from the cost per item at two sizes. */
export function exponent(small: { size: number; perItem: number }, large: { size: number; perItem: number }): number {
  return 1 + Math.log(large.perItem / small.perItem) / Math.log(large.size / small.size)
}
