declare const mark: unique symbol

/** How far a reader has read a growing text. Invalid once text that it read was discarded. */
export interface TextMark {
  readonly [mark]: true
}

/** The content of a mark, for the text that issued it. */
interface TextPosition {
  readonly growth: GrowingText
  readonly truncations: number
  readonly pieces: number
}

/** The text added since a mark. With `reset` it is the full text, because the mark was missing or invalid. */
export interface TextGrowth {
  /** The added text, or the full text with `reset`. */
  readonly text: string
  /** Whether `text` replaces everything that was read before. */
  readonly reset: boolean
  /** The mark to pass next time. */
  readonly mark: TextMark
}

/**
 * A text that grows by deltas. Slicing or searching a string that was built by `+=` copies all of it, so a reader
 * that needs only the new text gets the pieces added between reads, and never touches the rest (law 11).
 */
export class GrowingText {
  #text: string
  #unread = ''
  #pieces: string[] = []
  #truncations = 0

  constructor(text = '') {
    this.#text = text
  }

  push(delta: string): void {
    this.#unread += delta
  }

  /** The full text. */
  read(): string {
    if (this.#unread !== '') {
      this.#pieces.push(this.#unread)
      this.#text += this.#unread
      this.#unread = ''
    }
    return this.#text
  }

  /** Discards all text after a length. */
  truncate(length: number): void {
    this.#text = this.read().slice(0, length)
    this.#pieces = []
    this.#truncations++
  }

  /** Returns the text added since the mark, in time proportional to that text. */
  textSince(since?: TextMark): TextGrowth {
    const text = this.read()
    const position: TextPosition = { growth: this, truncations: this.#truncations, pieces: this.#pieces.length }
    const from = since as TextPosition | undefined
    const reset = from?.growth !== this || from.truncations !== this.#truncations
    return {
      text: reset ? text : this.#pieces.slice(from.pieces).join(''),
      reset,
      mark: position as unknown as TextMark,
    }
  }
}
