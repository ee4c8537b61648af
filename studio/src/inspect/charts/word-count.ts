/** Counts words as they come, also those that are cut between two pieces. */
export class WordCount {
  /** Of the texts that ended within a word. */
  readonly #within = new Set<string>()

  /** How many words begin in this piece of a text. */
  add(text: string, piece: string): number {
    let isWithin = this.#within.has(text)
    let count = 0
    for (let i = 0; i < piece.length; i++) {
      const isSpace = SPACE.test(piece.charAt(i))
      if (!isSpace && !isWithin) count++
      isWithin = !isSpace
    }
    if (isWithin) this.#within.add(text)
    else this.#within.delete(text)
    return count
  }
}

const SPACE = /\s/
