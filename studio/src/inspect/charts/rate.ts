/** Output in one time bucket. */
export interface RateBucket {
  deltas: number
  words: number
  /** Reported tokens, spread over the deltas by length. */
  tokens: number
}

export type RateUnit = keyof RateBucket

/** Initial length of a bucket in ms. */
const INITIAL_BUCKET_MS = 125
/** Maximum number of buckets. Above it, pairs are merged. */
const MAX_BUCKETS = 192

/** Output per bucket of a run, with a bounded number of buckets. */
export class Rate {
  #widthMs = INITIAL_BUCKET_MS
  readonly #buckets: RateBucket[] = []
  /** Characters per bucket of each open step. */
  readonly #characters = new Map<string, Map<number, number>>()

  /** Length of a bucket in ms. */
  get widthMs(): number {
    return this.#widthMs
  }

  /** From the start of the run. The array grows in place. */
  get buckets(): readonly RateBucket[] {
    return this.#buckets
  }

  /** Adds a delta. */
  add(step: string, ms: number, words: number, characters: number): void {
    const bucket = this.#at(ms)
    bucket.deltas++
    bucket.words += words
    const byBucket = this.#characters.get(step) ?? new Map<number, number>()
    this.#characters.set(step, byBucket)
    // Keyed by time, since buckets may be merged before the model reports its tokens.
    const start = Math.floor(ms / this.#widthMs) * this.#widthMs
    byBucket.set(start, (byBucket.get(start) ?? 0) + characters)
  }

  /** Spreads the reported tokens of a step over its deltas. */
  addTokens(step: string, tokens: number | undefined): void {
    const byBucket = this.#characters.get(step)
    this.#characters.delete(step)
    if (byBucket === undefined || tokens === undefined) return
    let total = 0
    for (const characters of byBucket.values()) total += characters
    if (total === 0) return
    for (const [ms, characters] of byBucket) this.#at(ms).tokens += (tokens * characters) / total
  }

  #at(ms: number): RateBucket {
    while (ms >= this.#widthMs * MAX_BUCKETS) this.#mergePairs()
    const index = Math.max(0, Math.floor(ms / this.#widthMs))
    while (this.#buckets.length <= index) this.#buckets.push({ deltas: 0, words: 0, tokens: 0 })
    return this.#buckets[index] as RateBucket
  }

  #mergePairs(): void {
    this.#widthMs *= 2
    for (let i = 0; i * 2 < this.#buckets.length; i++) {
      const [first, second] = [this.#buckets[i * 2] as RateBucket, this.#buckets[i * 2 + 1]]
      this.#buckets[i] = {
        deltas: first.deltas + (second?.deltas ?? 0),
        words: first.words + (second?.words ?? 0),
        tokens: first.tokens + (second?.tokens ?? 0),
      }
    }
    this.#buckets.length = Math.ceil(this.#buckets.length / 2)
  }
}
