/** Decisions from one seed: the same ones each time, on every machine. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = mixed(seed | 0)
  }

  /** From 0 to just below 1. */
  next(): number {
    this.#state = (this.#state + 0x9e3779b9) | 0
    return (mixed(this.#state) >>> 0) / 2 ** 32
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  /** A whole number from `low` to `high`. */
  between(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1))
  }

  /** One of a list that holds something. */
  pick<T>(list: readonly T[]): T {
    return list[this.between(0, list.length - 1)] as T
  }
}

/** Spreads what differs in few bits over all of them. */
function mixed(value: number): number {
  let hash = Math.imul(value ^ (value >>> 16), 0x21f0aaad)
  hash = Math.imul(hash ^ (hash >>> 15), 0x735a2d97)
  return hash ^ (hash >>> 15)
}
