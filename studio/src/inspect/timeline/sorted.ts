/** The first place of a sorted list, from a place on, at which a test holds; its length where it holds nowhere. */
export function firstWhere(length: number, holds: (index: number) => boolean, from = 0): number {
  let low = from
  let high = length
  while (low < high) {
    const middle = (low + high) >> 1
    if (holds(middle)) high = middle
    else low = middle + 1
  }
  return low
}

/** The first place of sorted numbers with no less than a value. */
export const firstFrom = (values: readonly number[], value: number, from = 0): number =>
  firstWhere(values.length, i => (values[i] as number) >= value, from)
