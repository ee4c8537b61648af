// Selects the calls that fit into one batch. Weights are estimates, so the selection is tested a few times.

/** A call with its approximate size, at least 1. */
export interface WeighedCall {
  readonly toolCallId: string
  readonly weight: number
}

/** Precision of the search: up to 1/64 of the space may stay unused. */
const PRECISION = 64

/** The calls that fit together, in order. If one does not fit, smaller ones after it may. */
export function fitCalls<Call extends WeighedCall>(
  calls: readonly Call[],
  fits: (selected: readonly Call[]) => boolean,
): readonly Call[] {
  const total = calls.reduce((sum, { weight }) => sum + weight, 0)
  let selected: readonly Call[] = []
  let rejected: readonly Call[] = []
  const fitsWithin = (bound: number): boolean => {
    const tried = selectUpTo(calls, bound)
    if (isSame(tried, selected)) return true
    if (isSame(tried, rejected)) return false
    const isFitting = fits(tried)
    if (isFitting) selected = tried
    else rejected = tried
    return isFitting
  }
  let low = 0
  let high = calls.reduce((min, { weight }) => Math.min(min, weight), total)
  // Starts small: a test costs as much as it selects, and there may be far more calls than fit.
  while (fitsWithin(high)) {
    if (high >= total) return selected
    low = high
    high = Math.min(high * 2, total)
  }
  while (high - low > Math.max(1, high / PRECISION)) {
    const middle = Math.floor((low + high) / 2)
    if (fitsWithin(middle)) low = middle
    else high = middle
  }
  return selected
}

/** Selects calls in order up to a total weight, skipping those that exceed it. */
function selectUpTo<Call extends WeighedCall>(calls: readonly Call[], bound: number): Call[] {
  let remaining = bound
  return calls.filter(({ weight }) => {
    if (weight > remaining) return false
    remaining -= weight
    return true
  })
}

const isSame = (some: readonly WeighedCall[], others: readonly WeighedCall[]): boolean =>
  some.length === others.length && some.every((call, n) => call === others[n])
