import type { ProtocolError, ProtocolErrorCode } from '../error.ts'
import { mismatch, show } from '../mismatch.ts'
import { copyOf } from './container.ts'
import { getOwn, type Json, type JsonContainer, type JsonObject, putOwn } from './value.ts'

// What holds at every moment, each pinned by a property in stream.test.ts:
//
//  1. What is complete never changes. (A repeated key, of which the last wins as in `JSON.parse`, is parsed aside:
//     the old value stays as it is until the new one is complete and takes its place whole.)
//  2. Arrays only grow at their end, objects only gain keys; only the value that came last is partial.
//  3. Strings only grow, by whole characters: never half an escape, never half a surrogate pair.
//  4. Any split of the input gives the same value, the same completions in the same order, the same error.
//  5. In strict mode the end equals `JSON.parse`: the same texts are accepted, with the same value, down to MAX_JSON_DEPTH.
//  6. Numbers, `true`, `false` and `null` appear when they are whole; a key appears with the start of its value.
//  7. After a failure the value stays as it was, and what is pushed is ignored. `push` never throws.
//  8. A snapshot never changes; it shares all that is complete, and is the same object until something changed.
//  9. A push costs what it carries, whatever came before: nothing is read twice.
//
// Out of strict mode, a bracket that turns out to be none of a document before anything in it was reported was prose: the
// value goes, and the search goes on at the place where it failed. So 1, 2, 3 and 7 hold from the first report on.

/** Containers may nest this deep; one more is a `too-large` failure. */
export const MAX_JSON_DEPTH = 512

export type JsonStatus = 'partial' | 'done' | 'failed'

/** An object's key or an array's index. */
export type JsonSegment = string | number

/** Where a value stands in the document. A handler that keeps a path copies it: the stream goes on in it. */
export type JsonPath = readonly JsonSegment[]

/**
 * What a stream reports of the value as it shows. Only strings report growth: an array or an object is told of by what
 * completes in it. Of a repeated key nothing is reported before the whole of its value is complete. Handlers must not throw.
 */
export interface JsonHandler {
  /** The open string gained `delta`: at most one call a push for each string, and none for an empty one. */
  onGrow?(delta: string, path: JsonPath): void
  /** A value is complete, and will not change any more; `repeated` if it took the place of one under the same key. */
  onComplete?(value: Json, path: JsonPath, repeated: boolean): void
}

export interface JsonStreamOptions extends JsonHandler {
  /**
   * The text is the document and nothing else, as for `JSON.parse`. Otherwise the document is an object or an array:
   * what stands before it (prose, a code fence) and after its end is skipped. Brackets in the prose are skipped too,
   * but for what is JSON itself or begins with a whole value or text: `Result [1]: {"a":1}` ends as `[1]`.
   */
  strict?: boolean
}

// What the text may go on with, in the words of an error: they name each mark that is allowed.
const DOCUMENT = '"{" or "["'
const VALUE = 'a value'
const KEY = 'a key'
const COLON = '":"'
const END = 'the end'
const MORE_VALUE = 'more of a value'
const MORE_KEY = 'more of a key'
const MORE_STRING = 'more of a string'
const ANYTHING = ''

const MARKS = '{}[],:'
const SPACE = ' \n\r\t'
const AFTER_VALUE = `${SPACE},]}[{"`
const WORDS: JsonObject = { true: true, false: false, null: null }
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/
const ESCAPE = /^\\(["\\/bfnrt]|u[\da-fA-F]{0,4})$/
/** The escapes that texts are full of: `JSON.parse` knows them all, at its price. */
const FREQUENT: { [char: string]: string | undefined } = { n: '\n', '"': '"', '\\': '\\' }
const QUOTE = 34
const BACKSLASH = 92

/** Parses one JSON document as its text arrives, and holds its value at every moment. */
export class JsonStream {
  readonly #options: JsonStreamOptions
  #awaits: string
  #offset = 0
  #error: ProtocolError | undefined
  /** Whether what stands here may still be prose, and why what last seemed a document was none. */
  #inProse: boolean
  #missed: ProtocolError | undefined

  #value: Json | undefined
  /** The open containers, outermost first, and in each the place of the current value. */
  readonly #stack: JsonContainer[] = []
  readonly #path: JsonSegment[] = []
  /** How many open containers show, if there is one under a repeated key, which does not yet. */
  #aside = 0

  /** What there is of the token at hand. */
  #text = ''
  #escape = ''
  /** A string's last unit, while the next may complete it to a pair. */
  #high = ''

  #changed = false
  #snapshot: Json | undefined

  constructor(options: JsonStreamOptions = {}) {
    this.#options = options
    this.#awaits = options.strict ? VALUE : DOCUMENT
    this.#inProse = !options.strict
  }

  /** The value as far as it came, live: later pushes go on in it. `undefined` before its first sign. */
  get value(): Json | undefined {
    return this.#value
  }

  /** In strict mode what follows the document may still turn `done` into `failed`, until `end()`. */
  get status(): JsonStatus {
    return this.#error ? 'failed' : this.#awaits === END || this.#awaits === ANYTHING ? 'done' : 'partial'
  }

  /** Why it failed: the offset, what was expected and what was found. */
  get error(): ProtocolError | undefined {
    return this.#error
  }

  /** The value as it is now, for keeps: costs a shallow copy of each open container, and nothing if nothing changed. */
  snapshot(): Json | undefined {
    if (this.#changed) {
      this.#changed = false
      this.#snapshot = this.#value
      const last = (this.#aside || this.#stack.length) - 1
      for (let i = last; i >= 0; i--) {
        const copy = copyOf(this.#stack[i] as JsonContainer)
        if (i < last) putOwn(copy, this.#path[i] as JsonSegment, this.#snapshot as Json)
        this.#snapshot = copy
      }
    }
    return this.#snapshot
  }

  /** Goes on with the next piece of text, of any length. Never throws: see `status` and `error`. */
  push(delta: string): void {
    let i = 0
    while (i < delta.length && this.#awaits !== ANYTHING) {
      if (this.#awaits === MORE_STRING || this.#awaits === MORE_KEY) i = this.#takeString(delta, i)
      else if (this.#awaits === MORE_VALUE) i = this.#takeScalar(delta, i)
      else i = this.#takeMark(delta[i] as string, i)
    }
    this.#offset += delta.length
  }

  /** Says that the text is over, and tells whether a whole document was seen; if not, it failed. */
  end(): boolean {
    if (this.#awaits === MORE_VALUE && !this.#stack.length) this.#endScalar(0)
    if (this.#awaits === END) this.#awaits = ANYTHING
    if (this.#awaits !== ANYTHING) this.#fail(0)
    return this.#error === undefined
  }

  /** Takes one character between tokens; gives where to go on, which is the same place if a scalar begins there. */
  #takeMark(char: string, i: number): number {
    const awaits = this.#awaits
    const isNamed = MARKS.includes(char) && awaits.includes(char)
    if (awaits === DOCUMENT ? !isNamed : SPACE.includes(char)) return i + 1
    if (isNamed && ']}'.includes(char)) {
      this.#path.pop()
      this.#complete(this.#stack.pop() as JsonContainer)
    } else if (isNamed && ',:'.includes(char)) {
      this.#awaits = char === ':' || this.#inArray ? VALUE : KEY
    } else if (isNamed || awaits.startsWith(VALUE)) {
      return this.#begin(char, i)
    } else if (char === '"' && awaits.startsWith(KEY)) {
      this.#awaits = MORE_KEY
      this.#text = ''
    } else {
      return this.#fail(i, char)
    }
    return i + 1
  }

  #begin(char: string, i: number): number {
    const depth = this.#stack.length
    const top = this.#stack[depth - 1]
    if (Array.isArray(top)) this.#path[depth - 1] = top.length
    else if (top && Object.hasOwn(top, this.#path[depth - 1] as string)) this.#aside ||= depth
    this.#text = ''
    const start = char === '"' ? '' : char === '{' ? {} : char === '[' ? [] : undefined
    this.#awaits = start === undefined ? MORE_VALUE : MORE_STRING
    if (start === undefined) return i
    if (start !== '' && depth === MAX_JSON_DEPTH) return this.#fail(i, char, `at most ${depth} levels`, 'too-large')
    if (!this.#aside) this.#place(start)
    if (start !== '') {
      this.#stack.push(start)
      this.#path.push('')
      this.#awaits = this.#inArray ? `${VALUE} or "]"` : `${KEY} or "}"`
    }
    return i + 1
  }

  /** Takes what there is of a string, in slices as long as they come, and shows its growth once. */
  #takeString(delta: string, from: number): number {
    let i = from
    let grown = this.#high
    this.#high = ''
    for (; i < delta.length; i++) {
      if (this.#escape) {
        this.#escape += delta[i]
        if (!ESCAPE.test(this.#escape)) break
        if (this.#escape[1] !== 'u' || this.#escape.length === 6) {
          grown += FREQUENT[this.#escape[1] as string] ?? JSON.parse(`"${this.#escape}"`)
          this.#escape = ''
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
      this.#escape = '\\'
    }
    const last = grown.length - 1
    if (i === delta.length && (grown.charCodeAt(last) & 0xfc00) === 0xd800) {
      this.#high = grown.slice(last)
      grown = grown.slice(0, last)
    }
    if (grown) {
      this.#text += grown
      if (this.#awaits === MORE_STRING && !this.#aside) {
        this.#place(this.#text)
        this.#inProse = false
        this.#options.onGrow?.(grown, this.#path)
      }
    }
    if (i === delta.length) return i
    if (this.#escape) return this.#fail(i, delta[i], 'an escape')
    if (delta[i] !== '"') return this.#fail(i, delta[i])
    if (this.#awaits === MORE_STRING) this.#complete(this.#text)
    else {
      this.#path[this.#path.length - 1] = this.#text
      this.#awaits = COLON
    }
    return i + 1
  }

  /** Takes all up to a mark that can follow a value: what it means is asked once, when it is over. */
  #takeScalar(delta: string, from: number): number {
    let i = from
    while (i < delta.length && !AFTER_VALUE.includes(delta[i] as string)) i++
    this.#text += delta.slice(from, i)
    if (i < delta.length) this.#endScalar(i, delta[i])
    return i
  }

  #endScalar(i: number, next?: string): void {
    const text = this.#text
    const value = NUMBER.test(text) ? Number(text) : getOwn(WORDS, text)
    if (value === undefined) this.#fail(i - text.length, text || next, VALUE)
    else this.#complete(value)
  }

  get #inArray(): boolean {
    return Array.isArray(this.#stack.at(-1))
  }

  /** Puts a value in its place, where it may be already since it began. */
  #place(value: Json): void {
    const top = this.#stack.at(-1) as JsonObject | undefined
    const segment = this.#path.at(-1) as JsonSegment
    if (Object.is(top ? top[segment] : this.#value, value)) return
    if (top) putOwn(top, segment, value)
    else this.#value = value
    this.#changed ||= !this.#aside
  }

  #complete(value: Json): void {
    const depth = this.#stack.length
    const repeated = depth > 0 && this.#aside === depth
    if (repeated) this.#aside = 0
    this.#place(value)
    if (depth) this.#awaits = this.#inArray ? '"," or "]"' : '"," or "}"'
    else this.#awaits = this.#options.strict ? END : ANYTHING
    this.#inProse = false
    if (!this.#aside) this.#options.onComplete?.(value, this.#path, repeated)
  }

  /** Ends the parse, which the loop in `push` sees, or takes what there is for prose; gives where to go on. */
  #fail(i: number, found?: string, expected = this.#awaits, code: ProtocolErrorCode = 'invalid-json'): number {
    const error = mismatch(code, `offset ${this.#offset + i}`, expected, show(found) ?? END)
    if (this.#inProse && found !== undefined && code === 'invalid-json') {
      this.#missed = error
      this.#awaits = DOCUMENT
      this.#value = undefined
      this.#changed = true
      this.#escape = ''
      this.#stack.length = this.#path.length = 0
    } else {
      this.#error = (expected === DOCUMENT && this.#missed) || error
      this.#awaits = ANYTHING
    }
    return i
  }
}
