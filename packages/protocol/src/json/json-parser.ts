import { shallowCopy } from './container.ts'
import { type Json, type JsonContainer, type JsonObject, parseJson, putOwn } from './json.ts'

/** The maximum nesting depth of containers. A deeper document fails with `too-large`. */
export const MAX_JSON_DEPTH = 512

/** An object key or an array index. */
export type JsonSegment = string | number

// The next expected token, as error text. The text quotes each allowed punctuation character.
const VALUE = 'a value'
const KEY = 'a key'
const COLON = '":"'
export const END = 'the end'
export const MORE_VALUE = 'more of a value'
const MORE_KEY = 'more of a key'
const MORE_STRING = 'more of a string'
/** The parse has ended: all further text is ignored. */
export const ANYTHING = ''

const PUNCTUATION = '}],:'
const SPACE = ' \n\r\t'
const AFTER_VALUE = `${SPACE},]}[{"`
const ESCAPE = /^\\(["\\/bfnrt]|u[\da-fA-F]{0,4})$/
/** The most frequent escapes, decoded without the cost of `JSON.parse`. */
const COMMON_ESCAPES: { [char: string]: string | undefined } = { n: '\n', '"': '"', '\\': '\\' }
const QUOTE = 34
const BACKSLASH = 92

/**
 * Incremental parser of a text that is exactly one JSON document. Its partial value can be read at any time. It is the part of
 * `JsonStream` that the fold needs. Invalid text ends the parse and keeps the value so far.
 */
export class JsonParser {
  protected awaits = VALUE
  protected root: Json | undefined
  /** The open containers, outermost first. `path` holds the current key or index in each. */
  protected readonly stack: JsonContainer[] = []
  protected readonly path: JsonSegment[] = []
  protected changed = false
  /** The incomplete escape sequence, or ''. */
  protected escape = ''
  /** The number of visible open containers while the value of a repeated key is parsed, which stays hidden until it is complete; else 0. */
  #visibleDepth = 0
  /** The current token so far. */
  #text = ''
  /** A high surrogate at the end of the text, held back until the next unit arrives. */
  #highSurrogate = ''
  #snapshot: Json | undefined

  /** An immutable copy of the current value. Costs a shallow copy of each open container, and nothing if nothing changed. */
  snapshot(): Json | undefined {
    if (this.changed) {
      this.changed = false
      this.#snapshot = this.root
      const last = (this.#visibleDepth || this.stack.length) - 1
      for (let i = last; i >= 0; i--) {
        const copy = shallowCopy(this.stack[i] as JsonContainer)
        if (i < last) putOwn(copy, this.path[i] as JsonSegment, this.#snapshot as Json)
        this.#snapshot = copy
      }
    }
    return this.#snapshot
  }

  /** Parses the next piece of text, of any length. Never throws. */
  push(delta: string): void {
    let i = 0
    while (i < delta.length && this.awaits !== ANYTHING) {
      if (this.awaits === MORE_STRING || this.awaits === MORE_KEY) i = this.#takeString(delta, i)
      else if (this.awaits === MORE_VALUE) i = this.#takeScalar(delta, i)
      else i = this.takeChar(delta[i] as string, i)
    }
  }

  /** Parses one character between tokens. Returns the next position, which is the same one when a scalar starts there. */
  protected takeChar(char: string, i: number): number {
    const { awaits } = this
    if (SPACE.includes(char)) return i + 1
    if (PUNCTUATION.includes(char) && awaits.includes(char)) {
      if (char === ',' || char === ':') this.awaits = char === ':' || this.#isInArray ? VALUE : KEY
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
    else if (top && Object.hasOwn(top, path[depth - 1] as string)) this.#visibleDepth ||= depth
    this.#text = ''
    const start = char === '"' ? '' : char === '{' ? {} : char === '[' ? [] : undefined
    this.awaits = start === undefined ? MORE_VALUE : MORE_STRING
    if (start === undefined) return i
    if (start !== '' && depth === MAX_JSON_DEPTH) return this.fail(i, char, true)
    if (!this.#visibleDepth) this.#setCurrent(start)
    if (start !== '') {
      stack.push(start)
      path.push('')
      this.awaits = this.#isInArray ? `${VALUE} or "]"` : `${KEY} or "}"`
    }
    return i + 1
  }

  /** Parses string content in slices as long as possible, and reports its growth once. */
  #takeString(delta: string, from: number): number {
    let i = from
    let added = this.#highSurrogate
    this.#highSurrogate = ''
    for (; i < delta.length; i++) {
      if (this.escape) {
        this.escape += delta[i]
        if (!ESCAPE.test(this.escape)) break
        if (this.escape[1] !== 'u' || this.escape.length === 6) {
          added += COMMON_ESCAPES[this.escape[1] as string] ?? JSON.parse(`"${this.escape}"`)
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
      added += delta.slice(start, i)
      if (code !== BACKSLASH) break
      this.escape = '\\'
    }
    const last = added.length - 1
    if (i === delta.length && (added.charCodeAt(last) & 0xfc00) === 0xd800) {
      this.#highSurrogate = added.slice(last)
      added = added.slice(0, last)
    }
    if (added) {
      this.#text += added
      if (this.awaits === MORE_STRING && !this.#visibleDepth) {
        this.#setCurrent(this.#text)
        this.grew(added)
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

  /** Collects characters until one that can follow a value. The scalar is parsed once, when it is complete. */
  #takeScalar(delta: string, from: number): number {
    let i = from
    while (i < delta.length && !AFTER_VALUE.includes(delta[i] as string)) i++
    this.#text += delta.slice(from, i)
    if (i < delta.length) this.endScalar(i, delta[i])
    return i
  }

  protected endScalar(i: number, next?: string): void {
    const text = this.#text
    const value = parseJson(text)
    this.awaits = VALUE
    if (value === undefined) this.fail(i - text.length, text || next)
    else this.#complete(value)
  }

  get #isInArray(): boolean {
    return Array.isArray(this.stack.at(-1))
  }

  /** Writes a value at the current path, if it is not there already. */
  #setCurrent(value: Json): void {
    const top = this.stack.at(-1) as JsonObject | undefined
    const segment = this.path.at(-1) as JsonSegment
    if (Object.is(top ? top[segment] : this.root, value)) return
    if (top) putOwn(top, segment, value)
    else this.root = value
    this.changed ||= !this.#visibleDepth
  }

  #complete(value: Json): void {
    const depth = this.stack.length
    const repeated = depth > 0 && this.#visibleDepth === depth
    if (repeated) this.#visibleDepth = 0
    this.#setCurrent(value)
    this.awaits = !depth ? END : this.#isInArray ? '"," or "]"' : '"," or "}"'
    if (!this.#visibleDepth) this.completed(value, repeated)
  }

  /** Called when the open string grew visibly. */
  protected grew(_delta: string): void {}

  /** Called when a visible value is complete. */
  protected completed(_value: Json, _repeated: boolean): void {}

  /** Ends the parse and returns the next position. */
  protected fail(i: number, _found?: string, _tooDeep?: boolean): number {
    this.awaits = ANYTHING
    return i
  }
}
