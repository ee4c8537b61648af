import { copyOf } from './container.ts'
import { type Json, type JsonContainer, type JsonObject, parsed, putOwn } from './json.ts'

/** Containers may nest this deep; one more is a `too-large` failure. */
export const MAX_JSON_DEPTH = 512

/** An object's key or an array's index. */
export type JsonSegment = string | number

// What the text may go on with, in the words of an error: they name each mark that is allowed.
const VALUE = 'a value'
const KEY = 'a key'
const COLON = '":"'
export const END = 'the end'
export const MORE_VALUE = 'more of a value'
const MORE_KEY = 'more of a key'
const MORE_STRING = 'more of a string'
/** Nothing more is looked at. */
export const ANYTHING = ''

const MARKS = '}],:'
const SPACE = ' \n\r\t'
const AFTER_VALUE = `${SPACE},]}[{"`
const ESCAPE = /^\\(["\\/bfnrt]|u[\da-fA-F]{0,4})$/
/** The escapes that texts are full of: `JSON.parse` knows them all, at its price. */
const FREQUENT: { [char: string]: string | undefined } = { n: '\n', '"': '"', '\\': '\\' }
const QUOTE = 34
const BACKSLASH = 92

/**
 * Takes a text that is a JSON document and nothing else, as it arrives, and gives its value at every moment: as much of `JsonStream` as a
 * fold needs. What breaks the document ends the parse, and the value stays as it was.
 */
export class JsonParser {
  protected awaits = VALUE
  protected root: Json | undefined
  /** The open containers, outermost first, and in each the place of the current value. */
  protected readonly stack: JsonContainer[] = []
  protected readonly path: JsonSegment[] = []
  protected changed = false
  /** As much as there is of the escape at hand. */
  protected escape = ''
  /** How many open containers show, if there is one under a repeated key, which does not yet. */
  #aside = 0
  /** What there is of the token at hand. */
  #text = ''
  /** A string's last unit, while the next may complete it to a pair. */
  #high = ''
  #snapshot: Json | undefined

  /** The value as it is now, for keeps: costs a shallow copy of each open container, and nothing if nothing changed. */
  snapshot(): Json | undefined {
    if (this.changed) {
      this.changed = false
      this.#snapshot = this.root
      const last = (this.#aside || this.stack.length) - 1
      for (let i = last; i >= 0; i--) {
        const copy = copyOf(this.stack[i] as JsonContainer)
        if (i < last) putOwn(copy, this.path[i] as JsonSegment, this.#snapshot as Json)
        this.#snapshot = copy
      }
    }
    return this.#snapshot
  }

  /** Goes on with the next piece of text, of any length. Never throws. */
  push(delta: string): void {
    let i = 0
    while (i < delta.length && this.awaits !== ANYTHING) {
      if (this.awaits === MORE_STRING || this.awaits === MORE_KEY) i = this.#takeString(delta, i)
      else if (this.awaits === MORE_VALUE) i = this.#takeScalar(delta, i)
      else i = this.takeMark(delta[i] as string, i)
    }
  }

  /** Takes one character between tokens; gives where to go on, which is the same place if a scalar begins there. */
  protected takeMark(char: string, i: number): number {
    const { awaits } = this
    if (SPACE.includes(char)) return i + 1
    if (MARKS.includes(char) && awaits.includes(char)) {
      if (char === ',' || char === ':') this.awaits = char === ':' || this.#inArray ? VALUE : KEY
      else {
        this.path.pop()
        this.#complete(this.stack.pop() as JsonContainer)
      }
    } else if (awaits.startsWith(VALUE)) {
      return this.begin(char, i)
    } else if (char === '"' && awaits.startsWith(KEY)) {
      this.awaits = MORE_KEY
      this.#text = ''
    } else {
      return this.fail(i, char)
    }
    return i + 1
  }

  protected begin(char: string, i: number): number {
    const { stack, path } = this
    const depth = stack.length
    const top = stack[depth - 1]
    if (Array.isArray(top)) path[depth - 1] = top.length
    else if (top && Object.hasOwn(top, path[depth - 1] as string)) this.#aside ||= depth
    this.#text = ''
    const start = char === '"' ? '' : char === '{' ? {} : char === '[' ? [] : undefined
    this.awaits = start === undefined ? MORE_VALUE : MORE_STRING
    if (start === undefined) return i
    if (start !== '' && depth === MAX_JSON_DEPTH) return this.fail(i, char, true)
    if (!this.#aside) this.#place(start)
    if (start !== '') {
      stack.push(start)
      path.push('')
      this.awaits = this.#inArray ? `${VALUE} or "]"` : `${KEY} or "}"`
    }
    return i + 1
  }

  /** Takes what there is of a string, in slices as long as they come, and shows its growth once. */
  #takeString(delta: string, from: number): number {
    let i = from
    let grown = this.#high
    this.#high = ''
    for (; i < delta.length; i++) {
      if (this.escape) {
        this.escape += delta[i]
        if (!ESCAPE.test(this.escape)) break
        if (this.escape[1] !== 'u' || this.escape.length === 6) {
          grown += FREQUENT[this.escape[1] as string] ?? JSON.parse(`"${this.escape}"`)
          this.escape = ''
        }
        continue
      }
      const start = i
      let code = 0
      for (; i < delta.length; i++) {
        code = delta.charCodeAt(i)
        if (code < 32 || code === QUOTE || code === BACKSLASH) break
      }
      grown += delta.slice(start, i)
      if (code !== BACKSLASH) break
      this.escape = '\\'
    }
    const last = grown.length - 1
    if (i === delta.length && (grown.charCodeAt(last) & 0xfc00) === 0xd800) {
      this.#high = grown.slice(last)
      grown = grown.slice(0, last)
    }
    if (grown) {
      this.#text += grown
      if (this.awaits === MORE_STRING && !this.#aside) {
        this.#place(this.#text)
        this.grew(grown)
      }
    }
    if (i === delta.length) return i
    if (delta[i] !== '"' || this.escape) return this.fail(i, delta[i])
    if (this.awaits === MORE_STRING) this.#complete(this.#text)
    else {
      this.path[this.path.length - 1] = this.#text
      this.awaits = COLON
    }
    return i + 1
  }

  /** Takes all up to a mark that can follow a value: what it means is asked once, when it is over. */
  #takeScalar(delta: string, from: number): number {
    let i = from
    while (i < delta.length && !AFTER_VALUE.includes(delta[i] as string)) i++
    this.#text += delta.slice(from, i)
    if (i < delta.length) this.endScalar(i, delta[i])
    return i
  }

  protected endScalar(i: number, next?: string): void {
    const text = this.#text
    const value = parsed(text)
    this.awaits = VALUE
    if (value === undefined) this.fail(i - text.length, text || next)
    else this.#complete(value)
  }

  get #inArray(): boolean {
    return Array.isArray(this.stack.at(-1))
  }

  /** Puts a value in its place, where it may be already since it began. */
  #place(value: Json): void {
    const top = this.stack.at(-1) as JsonObject | undefined
    const segment = this.path.at(-1) as JsonSegment
    if (Object.is(top ? top[segment] : this.root, value)) return
    if (top) putOwn(top, segment, value)
    else this.root = value
    this.changed ||= !this.#aside
  }

  #complete(value: Json): void {
    const depth = this.stack.length
    const repeated = depth > 0 && this.#aside === depth
    if (repeated) this.#aside = 0
    this.#place(value)
    this.awaits = !depth ? END : this.#inArray ? '"," or "]"' : '"," or "}"'
    if (!this.#aside) this.completed(value, repeated)
  }

  /** The open string gained something that shows. */
  protected grew(_delta: string): void {}

  /** A value that shows is complete. */
  protected completed(_value: Json, _repeated: boolean): void {}

  /** Ends the parse, which the loop in `push` sees; gives where to go on. */
  protected fail(i: number, _found?: string, _tooDeep?: boolean): number {
    this.awaits = ANYTHING
    return i
  }
}
