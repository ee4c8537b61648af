/** What was noted of late, by key: so much, and no more. */
export class Recent<T> {
  readonly #kept = new Map<string, T>()
  readonly #most: number

  constructor(most: number) {
    this.#most = most
  }

  note(key: string, value: T): void {
    this.#kept.delete(key)
    this.#kept.set(key, value)
    if (this.#kept.size > this.#most) this.#kept.delete(this.#kept.keys().next().value as string)
  }

  /** Gives it, and forgets it. */
  take(key: string): T | undefined {
    const value = this.#kept.get(key)
    this.#kept.delete(key)
    return value
  }
}
