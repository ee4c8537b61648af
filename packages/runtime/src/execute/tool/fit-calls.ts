// Which of several calls have room together. What they weigh is a guess; whether they have room is tried, a few times.

/** A call, and how much room it takes, more or less: at least 1. */
export interface WeighedCall {
  readonly toolCallId: string
  readonly weight: number
}

/** So small a part of the room may be left empty: nothing more is tried for it. */
const GRAIN = 64

/** The calls that have room together, first ones first; for one that has none, smaller ones after it may. */
export function fitCalls(
  calls: readonly WeighedCall[],
  hasRoom: (taken: readonly WeighedCall[]) => boolean,
): readonly WeighedCall[] {
  const total = calls.reduce((sum, { weight }) => sum + weight, 0)
  let taken: readonly WeighedCall[] = []
  let refused: readonly WeighedCall[] = []
  const isRoomFor = (bound: number): boolean => {
    const tried = within(calls, bound)
    if (isSame(tried, taken)) return true
    if (isSame(tried, refused)) return false
    const has = hasRoom(tried)
    if (has) taken = tried
    else refused = tried
    return has
  }
  let low = 0
  let high = calls.reduce((least, { weight }) => Math.min(least, weight), total)
  // From below: a try costs as much as what it tries, and there may be many times more than has room.
  while (isRoomFor(high)) {
    if (high >= total) return taken
    low = high
    high = Math.min(high * 2, total)
  }
  while (high - low > Math.max(1, high / GRAIN)) {
    const middle = Math.floor((low + high) / 2)
    if (isRoomFor(middle)) low = middle
    else high = middle
  }
  return taken
}

/** One after the other as long as they weigh no more than that together, without those that would be too much. */
function within(calls: readonly WeighedCall[], bound: number): WeighedCall[] {
  let left = bound
  return calls.filter(({ weight }) => {
    if (weight > left) return false
    left -= weight
    return true
  })
}

const isSame = (some: readonly WeighedCall[], others: readonly WeighedCall[]): boolean =>
  some.length === others.length && some.every((call, n) => call === others[n])
