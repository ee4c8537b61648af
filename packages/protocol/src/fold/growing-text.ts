declare const mark: unique symbol

/** How far a reader has read a growing text; void once what it read was taken back. */
export interface Mark {
  readonly [mark]: true
}

/** What a mark is to the text that gave it. */
interface Place {
  readonly growth: Growth
  readonly cuts: number
  readonly pieces: number
}

/** What a text gained since a mark; `reset` says that it is the whole text, because the mark was missing or void. */
export interface Gained {
  readonly text: string
  readonly reset: boolean
  readonly mark: Mark
}

/**
 * A text that grows by deltas. Slicing or searching a string that was built by `+=` copies the whole of it, so a reader who
 * wants only what is new is served from the pieces between reads, and never touches the rest (law 11).
 */
export class Growth {
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

  /** Takes back all that came after a length. */
  cut(length: number): void {
    this.#text = this.read().slice(0, length)
    this.#pieces = []
    this.#cuts++
  }

  /** What came since the mark, at the cost of just that. */
  gained(since?: Mark): Gained {
    const text = this.read()
    const place: Place = { growth: this, cuts: this.#cuts, pieces: this.#pieces.length }
    const from = since as Place | undefined
    const reset = from?.growth !== this || from.cuts !== this.#cuts
    return { text: reset ? text : this.#pieces.slice(from.pieces).join(''), reset, mark: place as unknown as Mark }
  }
}
