/** A figure of several rounds: the middle, the least and the most. */
export interface Spread {
  median: number
  min: number
  max: number
}

/** The middle of the values, or the mean of the two in the middle. */
export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const high = sorted[middle] ?? Number.NaN
  return sorted.length % 2 ? high : ((sorted[middle - 1] ?? Number.NaN) + high) / 2
}

export function spread(values: number[]): Spread {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) }
}

/** The least of the values that so large a share of them does not exceed. */
export function quantile(values: number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN
}

/** e where the cost of a piece grows as its size to the power of e, from the cost per item at two sizes. */
export function exponent(small: { size: number; perItem: number }, large: { size: number; perItem: number }): number {
  return 1 + Math.log(large.perItem / small.perItem) / Math.log(large.size / small.size)
}
