/** Minimum weight of an entry, in bytes, for the objects around the value. */
const MIN_WEIGHT = 16 * 1024

/** Least-recently-used cache with a total weight in bytes. The entry used last stays, even if its weight alone is above the total. */
export class LruCache<T> {
  readonly #maxWeight: number
  /** In order of use, the last used at the end. */
  readonly #entries = new Map<string, { readonly value: T; readonly weight: number }>()
  #weight = 0

  constructor(maxWeight: number) {
    this.#maxWeight = maxWeight
  }

  /** Gets an entry and marks it most recently used. */
  get(name: string): T | undefined {
    const entry = this.#entries.get(name)
    if (entry === undefined) return undefined
    this.#entries.delete(name)
    this.#entries.set(name, entry)
    return entry.value
  }

  /** Sets an entry and marks it most recently used. */
  set(name: string, value: T, bytes: number): void {
    const weight = Math.max(bytes, MIN_WEIGHT)
    this.delete(name)
    this.#entries.set(name, { value, weight })
    this.#weight += weight
    for (const [oldest] of this.#entries) {
      if (this.#weight <= this.#maxWeight || oldest === name) return
      this.delete(oldest)
    }
  }

  delete(name: string): void {
    this.#weight -= this.#entries.get(name)?.weight ?? 0
    this.#entries.delete(name)
  }
}
