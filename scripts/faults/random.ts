/** Deterministic pseudo-random decisions from one seed. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = Math.imul(seed | 0, 0x9e3779b9) ^ 0x85ebca6b
  }

  /** An integer from 0 to below `end`. */
  below(end: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let hash = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    hash ^= hash + Math.imul(hash ^ (hash >>> 7), hash | 61)
    return Math.floor((((hash ^ (hash >>> 14)) >>> 0) / 2 ** 32) * end)
  }

  /** An integer from `low` to `high`, inclusive. */
  between(low: number, high: number): number {
    return low + this.below(high - low + 1)
  }

  /** An item of a non-empty list. */
  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T
  }
}
