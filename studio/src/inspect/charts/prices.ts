import type { ModelUsage } from './run-meter.ts'

/** Price per million tokens. */
export interface Price {
  readonly input: number
  readonly output: number
}

export type Prices = { readonly [model: string]: Price }

const STORAGE_KEY = 'prices'
/** Maximum number of models to keep. */
const MAX_MODELS = 100

/** Parses stored prices. Invalid ones are left out. */
export function pricesOf(text: string | null): Prices {
  try {
    const entries = Object.entries(Object(JSON.parse(text ?? '{}')) as Record<string, Partial<Price> | null>)
    const isPrice = (value: unknown): value is number =>
      typeof value === 'number' && value >= 0 && Number.isFinite(value)
    return Object.fromEntries(
      entries
        .slice(-MAX_MODELS)
        .flatMap(([model, price]) =>
          isPrice(price?.input) && isPrice(price.output) ? [[model, { input: price.input, output: price.output }]] : [],
        ),
    )
  } catch {
    return {}
  }
}

/** The prices stored in this browser. */
export function loadPrices(): Prices {
  try {
    return pricesOf(localStorage.getItem(STORAGE_KEY))
  } catch {
    // Local storage may be blocked.
    return {}
  }
}

/** Stores prices in this browser. */
export function savePrices(prices: Prices): void {
  try {
    localStorage.setItem(STORAGE_KEY, JSON.stringify(prices))
  } catch {
    // They last until the page is closed.
  }
}

/** The cost of token usage; undefined if a model has no price. */
export function costOf(usage: ReadonlyMap<string, ModelUsage>, prices: Prices): number | undefined {
  let cost = 0
  for (const [model, { input, output }] of usage) {
    const price = Object.hasOwn(prices, model) ? prices[model] : undefined
    if (price === undefined) return undefined
    cost += (input * price.input + output * price.output) / 1_000_000
  }
  return cost
}
