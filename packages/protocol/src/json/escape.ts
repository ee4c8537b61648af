const ESCAPES = '"\\/bfnrt'
const ESCAPED = '"\\/\b\f\n\r\t'

/** Reads an escape of a JSON string one unit at a time, as far as it has come. */
export class EscapeReader {
  /** Whether the text stands inside an escape: set it at the backslash. */
  open = false
  /** Hex digits still to come of a `\u` escape, and the sum of those seen. */
  #digits = 0
  #sum = 0

  /** Takes the next unit: gives the text of the escape, '' while it is not whole, `undefined` where it is none. */
  take(unit: string): string | undefined {
    if (this.#digits === 0) {
      if (unit === 'u') {
        this.#digits = 4
        this.#sum = 0
        return ''
      }
      this.open = false
      return ESCAPED[ESCAPES.indexOf(unit)]
    }
    const digit = '0123456789abcdef'.indexOf(unit.toLowerCase())
    if (digit < 0) return undefined
    this.#sum = this.#sum * 16 + digit
    this.open = --this.#digits > 0
    return this.open ? '' : String.fromCharCode(this.#sum)
  }
}
