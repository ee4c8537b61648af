/** Counts words of streamed texts, including words split between deltas. */
export class WordCount {
  /** Texts whose last delta ended inside a word. */
  readonly #within = new Set<string>()

  /** Number of words that start in this delta. */
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
