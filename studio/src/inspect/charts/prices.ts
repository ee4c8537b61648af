import type { Used } from './run-meter.ts'

/** What a million tokens cost. */
export interface Price {
  readonly input: number
  readonly output: number
}

export type Prices = { readonly [model: string]: Price }

const KEY = 'prices'
/** So many models at most are remembered. */
const MOST = 100

/** Reads prices as they were kept; what is none is left out. */
export function pricesOf(text: string | null): Prices {
  try {
    const entries = Object.entries(Object(JSON.parse(text ?? '{}')) as Record<string, Partial<Price> | null>)
    const isPrice = (value: unknown): value is number =>
      typeof value === 'number' && value >= 0 && Number.isFinite(value)
    return Object.fromEntries(
      entries
        .slice(-MOST)
        .flatMap(([model, price]) =>
          isPrice(price?.input) && isPrice(price.output) ? [[model, { input: price.input, output: price.output }]] : [],
        ),
    )
  } catch {
    return {}
  }
}

/** The prices that were entered in this browser. */
export function keptPrices(): Prices {
  try {
    return pricesOf(localStorage.getItem(KEY))
  } catch {
    // A browser may refuse to keep anything.
    return {}
  }
}

/** Keeps prices in this browser. */
export function keepPrices(prices: Prices): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(prices))
  } catch {
    // They hold until the page is left.
  }
}

/** What a run cost; undefined where a model that it used has no price. */
export function costOf(used: ReadonlyMap<string, Used>, prices: Prices): number | undefined {
  let cost = 0
  for (const [model, { input, output }] of used) {
    const price = Object.hasOwn(prices, model) ? prices[model] : undefined
    if (price === undefined) return undefined
    cost += (input * price.input + output * price.output) / 1_000_000
  }
  return cost
}
