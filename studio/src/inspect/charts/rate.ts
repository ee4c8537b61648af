/** Output in one moment. */
export interface Moment {
  deltas: number
  words: number
  /** Reported tokens, spread over the deltas by length. */
  tokens: number
}

export type RateUnit = keyof Moment

/** Initial length of a moment in ms. */
const FIRST_MS = 125
/** Maximum number of moments. Above it, pairs are merged. */
const MAX = 192

/** Output per moment of a run, with a bounded number of moments. */
export class Rate {
  #widthMs = FIRST_MS
  readonly #moments: Moment[] = []
  /** Characters per moment of each open step. */
  readonly #characters = new Map<string, Map<number, number>>()

  /** Length of a moment in ms. */
  get widthMs(): number {
    return this.#widthMs
  }

  /** From the start of the run. The array grows in place. */
  get moments(): readonly Moment[] {
    return this.#moments
  }

  /** Adds a delta. */
  add(step: string, ms: number, words: number, characters: number): void {
    const moment = this.#at(ms)
    moment.deltas++
    moment.words += words
    const byMoment = this.#characters.get(step) ?? new Map<number, number>()
    this.#characters.set(step, byMoment)
    // Keyed by time, since moments may be merged before the model reports its tokens.
    const start = Math.floor(ms / this.#widthMs) * this.#widthMs
    byMoment.set(start, (byMoment.get(start) ?? 0) + characters)
  }

  /** Spreads the reported tokens of a step over its deltas. */
  counted(step: string, tokens: number | undefined): void {
    const byMoment = this.#characters.get(step)
    this.#characters.delete(step)
    if (byMoment === undefined || tokens === undefined) return
    let all = 0
    for (const characters of byMoment.values()) all += characters
    if (all === 0) return
    for (const [ms, characters] of byMoment) this.#at(ms).tokens += (tokens * characters) / all
  }

  #at(ms: number): Moment {
    while (ms >= this.#widthMs * MAX) this.#join()
    const index = Math.max(0, Math.floor(ms / this.#widthMs))
    while (this.#moments.length <= index) this.#moments.push({ deltas: 0, words: 0, tokens: 0 })
    return this.#moments[index] as Moment
  }

  #join(): void {
    this.#widthMs *= 2
    for (let i = 0; i * 2 < this.#moments.length; i++) {
      const [one, other] = [this.#moments[i * 2] as Moment, this.#moments[i * 2 + 1]]
      this.#moments[i] = {
        deltas: one.deltas + (other?.deltas ?? 0),
        words: one.words + (other?.words ?? 0),
        tokens: one.tokens + (other?.tokens ?? 0),
      }
    }
    this.#moments.length = Math.ceil(this.#moments.length / 2)
  }
}
