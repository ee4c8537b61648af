import { numberOf } from './axis.ts'

/** Histogram of delta sizes in characters. Each bucket is twice as wide as the one before. */
export class SizeHistogram {
  readonly #counts: number[] = []
  #count = 0
  #characters = 0

  get counts(): readonly number[] {
    return this.#counts
  }

  get count(): number {
    return this.#count
  }

  /** Average size in characters. */
  get mean(): number {
    return this.#count === 0 ? 0 : this.#characters / this.#count
  }

  add(characters: number): void {
    this.#count++
    this.#characters += characters
    const index = bucketOf(characters)
    while (this.#counts.length <= index) this.#counts.push(0)
    this.#counts[index] = (this.#counts[index] ?? 0) + 1
  }
}

/** The bucket of a size: 0 and 1, 2, 3 to 4, 5 to 8, and so on. */
export const bucketOf = (characters: number): number => (characters <= 1 ? 0 : Math.ceil(Math.log2(characters)))

/** The range of sizes of a bucket. */
export const bucketRange = (index: number): readonly [number, number] =>
  index === 0 ? [0, 1] : [2 ** (index - 1) + 1, 2 ** index]

/** A count of deltas and their size, as text. */
export const deltasOf = (count: number, size: string): string =>
  `${numberOf(count)} ${count === 1 ? 'delta' : 'deltas'}, ${size} ${size === '1' ? 'character' : 'characters'}`

/** A summary of all sizes. */
export const sizesSummary = ({ count, mean }: SizeHistogram): string =>
  count === 0 ? 'No deltas yet.' : `${deltasOf(count, numberOf(mean))}${count === 1 ? '' : ' on average'}`
