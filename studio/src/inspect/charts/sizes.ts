import { numberOf } from './axis.ts'

/** How many deltas there were of each size, in characters: each class is twice as wide as the one before. */
export class Sizes {
  readonly #counts: number[] = []
  #count = 0
  #characters = 0

  get counts(): readonly number[] {
    return this.#counts
  }

  get count(): number {
    return this.#count
  }

  /** How long they are on average. */
  get mean(): number {
    return this.#count === 0 ? 0 : this.#characters / this.#count
  }

  add(characters: number): void {
    this.#count++
    this.#characters += characters
    const place = classOf(characters)
    while (this.#counts.length <= place) this.#counts.push(0)
    this.#counts[place] = (this.#counts[place] ?? 0) + 1
  }
}

/** The class of a size: 0 and 1, 2, 3 to 4, 5 to 8, and so on. */
export const classOf = (characters: number): number => (characters <= 1 ? 0 : Math.ceil(Math.log2(characters)))

/** What sizes a class has. */
export const rangeOf = (place: number): readonly [number, number] =>
  place === 0 ? [0, 1] : [2 ** (place - 1) + 1, 2 ** place]

/** So many deltas of a size, in words. */
export const deltasOf = (count: number, size: string): string =>
  `${numberOf(count)} ${count === 1 ? 'delta' : 'deltas'} of ${size} ${size === '1' ? 'character' : 'characters'}`

/** All of them in a sentence. */
export const sizesWords = ({ count, mean }: Sizes): string =>
  count === 0 ? 'No delta yet.' : `${deltasOf(count, numberOf(mean))}${count === 1 ? '' : ' on average'}`
