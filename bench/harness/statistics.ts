/** The middle of the values, or the mean of the two in the middle. */
export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const high = sorted[middle] ?? Number.NaN
  return sorted.length % 2 ? high : ((sorted[middle - 1] ?? Number.NaN) + high) / 2
}

/** e where the cost of a piece grows as its size to the power of e, from the cost per item at two sizes. */
export function exponent(small: { size: number; perItem: number }, large: { size: number; perItem: number }): number {
  return 1 + Math.log(large.perItem / small.perItem) / Math.log(large.size / small.size)
}
