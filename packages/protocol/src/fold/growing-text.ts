declare const mark: unique symbol

/** How far a reader has read a growing text. Invalid once text that it read was discarded. */
export interface TextMark {
  readonly [mark]: true
}

/** The content of a mark, for the text that issued it. */
interface TextPosition {
  readonly growth: GrowingText
  readonly cuts: number
  readonly pieces: number
}

/** The text added since a mark. With `reset` it is the whole text, because the mark was missing or invalid. */
export interface TextGrowth {
  readonly text: string
  readonly reset: boolean
  readonly mark: TextMark
}

/**
 * A text that grows by deltas. Slicing or searching a string that was built by `+=` copies the whole of it, so a reader
 * that needs only the new text gets the pieces added between reads, and never touches the rest (law 11).
 */
export class GrowingText {
  #text: string
  #tail = ''
  #pieces: string[] = []
  #cuts = 0

  constructor(text = '') {
    this.#text = text
  }

  push(delta: string): void {
    this.#tail += delta
  }

  /** The whole text. */
  read(): string {
    if (this.#tail !== '') {
      this.#pieces.push(this.#tail)
      this.#text += this.#tail
      this.#tail = ''
    }
    return this.#text
  }

  /** Discards all text after a length. */
  cut(length: number): void {
    this.#text = this.read().slice(0, length)
    this.#pieces = []
    this.#cuts++
  }

  /** Returns the text added since the mark, in time proportional to that text. */
  gained(since?: TextMark): TextGrowth {
    const text = this.read()
    const place: TextPosition = { growth: this, cuts: this.#cuts, pieces: this.#pieces.length }
    const from = since as TextPosition | undefined
    const reset = from?.growth !== this || from.cuts !== this.#cuts
    return { text: reset ? text : this.#pieces.slice(from.pieces).join(''), reset, mark: place as unknown as TextMark }
  }
}
