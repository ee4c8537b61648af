/** What came in a moment. */
export interface Moment {
  deltas: number
  words: number
  /** As the model counted them, spread over what it said by length. */
  tokens: number
}

export type RateUnit = keyof Moment

/** How long the first moments are, in milliseconds. */
const FIRST_MS = 125
/** So many moments at most: where there would be more, two become one. */
const MOST = 192

/** How much came in each moment of a run: however long it is, there are only so many of them. */
export class Rate {
  #widthMs = FIRST_MS
  readonly #moments: Moment[] = []
  /** Of each step under way, how many characters came when. */
  readonly #said = new Map<string, Map<number, number>>()

  /** How long a moment is, in milliseconds. */
  get widthMs(): number {
    return this.#widthMs
  }

  /** First to last, from the start of the run; the array grows in place. */
  get moments(): readonly Moment[] {
    return this.#moments
  }

  /** Something was said. */
  add(step: string, ms: number, words: number, characters: number): void {
    const moment = this.#at(ms)
    moment.deltas++
    moment.words += words
    const said = this.#said.get(step) ?? new Map<number, number>()
    this.#said.set(step, said)
    // By the shortest moments there are: they may be joined before the model tells how much it was.
    const place = Math.floor(ms / this.#widthMs) * this.#widthMs
    said.set(place, (said.get(place) ?? 0) + characters)
  }

  /** The model told how many tokens all of that was; or will never. */
  counted(step: string, tokens: number | undefined): void {
    const said = this.#said.get(step)
    this.#said.delete(step)
    if (said === undefined || tokens === undefined) return
    let all = 0
    for (const characters of said.values()) all += characters
    if (all === 0) return
    for (const [ms, characters] of said) this.#at(ms).tokens += (tokens * characters) / all
  }

  #at(ms: number): Moment {
    while (ms >= this.#widthMs * MOST) this.#join()
    const place = Math.max(0, Math.floor(ms / this.#widthMs))
    while (this.#moments.length <= place) this.#moments.push({ deltas: 0, words: 0, tokens: 0 })
    return this.#moments[place] as Moment
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
