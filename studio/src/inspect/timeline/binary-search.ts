/** Binary search: the first index from `from` for which `holds`; `length` if there is none. */
export function firstWhere(length: number, isMatch: (index: number) => boolean, from = 0): number {
  let low = from
  let high = length
  while (low < high) {
    const middle = (low + high) >> 1
    if (isMatch(middle)) high = middle
    else low = middle + 1
  }
  return low
}

/** Index of the first sorted number that is at least `value`. */
export const firstFrom = (values: readonly number[], value: number, from = 0): number =>
  firstWhere(values.length, i => (values[i] as number) >= value, from)
