/** Decisions from one seed, equal on every run and machine. */
export class Random {
  readonly #seed: number
  #state: number

  constructor(seed: number) {
    this.#seed = seed | 0
    this.#state = mixed(seed | 0)
  }

  /** An independent generator under a name: draws of others do not change its draws. */
  fork(name: string): Random {
    let hash = this.#seed ^ 0x811c9dc5
    for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193)
    return new Random(mixed(hash))
  }

  /** A number from 0 to below 1. */
  next(): number {
    this.#state = (this.#state + 0x9e3779b9) | 0
    return (mixed(this.#state) >>> 0) / 2 ** 32
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  /** An integer from 0 to below `end`. */
  below(end: number): number {
    return Math.floor(this.next() * end)
  }

  /** An integer from `low` to `high`. */
  between(low: number, high: number): number {
    return low + this.below(high - low + 1)
  }

  /** An item of a non-empty list. */
  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T
  }

  /** One of several, by weight. */
  weighted<T>(choices: readonly (readonly [weight: number, choice: T])[]): T {
    let at = this.next() * choices.reduce((sum, [weight]) => sum + weight, 0)
    for (const [weight, choice] of choices) {
      at -= weight
      if (at < 0) return choice
    }
    return (choices.at(-1) as readonly [number, T])[1]
  }
}

/** Mixes the bits of a value. */
function mixed(value: number): number {
  let hash = value
  hash = Math.imul(hash ^ (hash >>> 16), 0x21f0aaad)
  hash = Math.imul(hash ^ (hash >>> 15), 0x735a2d97)
  return hash ^ (hash >>> 15)
}
