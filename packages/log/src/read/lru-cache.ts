/** What the smallest weighs: the objects around a few bytes are more than those. */
const LEAST = 16 * 1024

/** Keeps what was used last, by name, up to a weight in bytes in all; what was used just now is kept whatever it weighs. */
export class LruCache<T> {
  readonly #most: number
  /** Those used last at the end. */
  readonly #kept = new Map<string, { readonly value: T; readonly weight: number }>()
  #weight = 0

  constructor(most: number) {
    this.#most = most
  }

  /** What a name stands for, which is used by that. */
  get(name: string): T | undefined {
    const kept = this.#kept.get(name)
    if (kept === undefined) return undefined
    this.#kept.delete(name)
    this.#kept.set(name, kept)
    return kept.value
  }

  /** Keeps a value as the one used last, in place of what the name stood for. */
  set(name: string, value: T, bytes: number): void {
    const weight = Math.max(bytes, LEAST)
    this.delete(name)
    this.#kept.set(name, { value, weight })
    this.#weight += weight
    for (const [oldest] of this.#kept) {
      if (this.#weight <= this.#most || oldest === name) return
      this.delete(oldest)
    }
  }

  delete(name: string): void {
    this.#weight -= this.#kept.get(name)?.weight ?? 0
    this.#kept.delete(name)
  }
}
