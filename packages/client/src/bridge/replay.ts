/**
 * A text that a stream which goes on may tell again from its beginning: what is there already is left out. Where it says something else
 * than what is there, it was no repeat, and all of it is news.
 */
export class TextReplay {
  #rest: string
  #repeated = ''

  constructor(text: string) {
    this.#rest = text
  }

  /** Whether it told all that is there. */
  get isOver(): boolean {
    return this.#rest === ''
  }

  /** What of it is news. */
  take(delta: string): string {
    const rest = this.#rest
    if (delta.startsWith(rest)) {
      this.#rest = ''
      return delta.slice(rest.length)
    }
    this.#repeated += delta
    if (rest.startsWith(delta)) {
      this.#rest = rest.slice(delta.length)
      return ''
    }
    return this.end()
  }

  /** What of it was news after all, since it ends before it told all that is there. */
  end(): string {
    const news = this.#rest === '' ? '' : this.#repeated
    this.#rest = ''
    return news
  }
}
