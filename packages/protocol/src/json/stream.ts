import { ProtocolError, type ProtocolErrorCode } from '../error.ts'
import { EscapeReader } from './escape.ts'
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

/** Containers may nest this deep; one more is a `too-large` failure. */
export const MAX_JSON_DEPTH = 512

export type JsonStatus = 'partial' | 'done' | 'failed'

/** An object's key or an array's index. */
export type JsonSegment = string | number

/**
 * What a stream reports. In every call `stream.path()`, `.segment`, `.depth` and `.repeated` speak of the value
 * reported; a handler that ignores them pays nothing for them. Handlers must not throw.
 */
export interface JsonHandler {
  /** A container begins, still empty and not yet in the value. */
  onOpen?(container: JsonContainer, stream: JsonStream): void
  /** The open string gained `delta`: at most one call a push for each string, and none for an empty one. */
  onGrow?(delta: string, stream: JsonStream): void
  /** A value is complete, and will not change any more. */
  onComplete?(value: Json, stream: JsonStream): void
}

export interface JsonStreamOptions extends JsonHandler {
  /**
   * The text is the document and nothing else, as for `JSON.parse`. Otherwise the document is an object or an array:
   * what stands before the first `{` or `[` (prose, a code fence) and after its end is skipped.
   */
  strict?: boolean
}

// States, and what each waits for. VALUE to TAIL are the places between tokens, where white space may stand.
const VALUE = 0
const FIRST_VALUE = 1
const KEY = 2
const FIRST_KEY = 3
const COLON = 4
const AFTER_ITEM = 5
const AFTER_FIELD = 6
const TAIL = 7
const STRING = 8
const SCALAR = 9
const PROSE = 10
const DONE = 11
const FAILED = 12
const EXPECTED = [
  'a value',
  'a value or "]"',
  'a key',
  'a key or "}"',
  '":"',
  '"," or "]"',
  '"," or "}"',
  'the end',
  'more of a string',
  'a value',
  '"{" or "["',
]

const WORDS: JsonObject = { true: true, false: false, null: null }
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/
const QUOTE = 34
const BACKSLASH = 92

/** Parses one JSON document as its text arrives, and holds its value at every moment. */
export class JsonStream {
  readonly #options: JsonStreamOptions
  #state: number
  #offset = 0
  #error: ProtocolError | undefined

  #value: Json | undefined
  /** The open containers, outermost first, and where each stands in the one before it. */
  readonly #stack: JsonContainer[] = []
  readonly #segments: JsonSegment[] = []
  #top: JsonContainer | undefined
  #inArray = false
  /** Where the current value stands in `#top`, and whether it repeats a key there. */
  #segment: JsonSegment = ''
  #repeated = false
  /** How many open containers show: those under a repeated key do not yet. */
  #shown = MAX_JSON_DEPTH

  /** What there is of the token at hand. */
  #text = ''
  #isKey = false
  /** A string's last unit, while the next may complete it to a pair. */
  #high = ''
  readonly #escape = new EscapeReader()

  #changed = false
  #snapshot: Json | undefined

  constructor(options: JsonStreamOptions = {}) {
    this.#options = options
    this.#state = options.strict ? VALUE : PROSE
  }

  /** The value as far as it came, live: later pushes go on in it. `undefined` before its first sign. */
  get value(): Json | undefined {
    return this.#value
  }

  /** In strict mode what follows the document may still turn `done` into `failed`, until `end()`. */
  get status(): JsonStatus {
    return this.#state === FAILED ? 'failed' : this.#state === DONE || this.#state === TAIL ? 'done' : 'partial'
  }

  /** Why it failed: the offset, what was expected and what was found. */
  get error(): ProtocolError | undefined {
    return this.#error
  }

  /** How many open containers enclose the current value. */
  get depth(): number {
    return this.#stack.length
  }

  /** The last segment of the current value's path; `undefined` for the document itself. */
  get segment(): JsonSegment | undefined {
    return this.#top === undefined ? undefined : this.#segment
  }

  /** Whether the current value comes in the place of an earlier one under the same key. */
  get repeated(): boolean {
    return this.#repeated
  }

  /** The path of the current value, built when asked for. */
  path(): JsonSegment[] {
    return this.#top === undefined ? [] : [...this.#segments.slice(1), this.#segment]
  }

  /** The value as it is now, for keeps: costs a shallow copy of each open container, and nothing if nothing changed. */
  snapshot(): Json | undefined {
    if (!this.#changed) return this.#snapshot
    this.#changed = false
    this.#snapshot = this.#value
    const last = Math.min(this.#shown, this.#stack.length) - 1
    for (let i = last; i >= 0; i--) {
      const live = this.#stack[i] as JsonContainer
      const copy = Array.isArray(live) ? live.slice() : { ...live }
      if (i < last) put(copy, this.#segments[i + 1] as JsonSegment, this.#snapshot as Json)
      this.#snapshot = copy
    }
    return this.#snapshot
  }

  /** Goes on with the next piece of text, of any length. Never throws: see `status` and `error`. */
  push(delta: string): void {
    const end = delta.length
    let i = 0
    while (i < end) {
      switch (this.#state) {
        case STRING:
          i = this.#takeString(delta, i)
          break
        case SCALAR:
          i = this.#takeScalar(delta, i)
          break
        case DONE:
        case FAILED:
          i = end
          break
        default:
          i = this.#takeMark(delta, i, delta.charCodeAt(i))
      }
    }
    this.#offset += end
  }

  /** Says that the text is over, and tells whether a whole document was seen; if not, it failed. */
  end(): boolean {
    if (this.#state === SCALAR && this.#top === undefined) this.#endScalar(0)
    if (this.#state === TAIL) this.#state = DONE
    if (this.#state < DONE) this.#fail(0)
    return this.#state === DONE
  }

  /** Takes one character between tokens, and the token that it begins. */
  #takeMark(delta: string, i: number, code: number): number {
    const state = this.#state
    if (state === PROSE) {
      if (code !== 123 && code !== 91) return i + 1
      this.#state = VALUE
      return i
    }
    if (code === 32 || code === 10 || code === 13 || code === 9) return i + 1
    if (code === 93 && (state === AFTER_ITEM || state === FIRST_VALUE)) return this.#close(i)
    if (code === 125 && (state === AFTER_FIELD || state === FIRST_KEY)) return this.#close(i)
    if (state === VALUE || state === FIRST_VALUE) return this.#begin(delta, i, code)
    if (code === QUOTE && (state === KEY || state === FIRST_KEY)) return this.#beginString(delta, i, true)
    if (code === 58 && state === COLON) this.#state = VALUE
    else if (code === 44 && state === AFTER_ITEM) this.#state = VALUE
    else if (code === 44 && state === AFTER_FIELD) this.#state = KEY
    else return this.#fail(i, delta[i])
    return i + 1
  }

  #begin(delta: string, i: number, code: number): number {
    const top = this.#top
    if (this.#inArray) this.#segment = (top as Json[]).length
    this.#repeated = top !== undefined && Object.hasOwn(top, this.#segment)
    if (code === QUOTE) return this.#beginString(delta, i, false)
    if (code === 123) return this.#open({}, i, delta)
    if (code === 91) return this.#open([], i, delta)
    this.#text = ''
    this.#state = SCALAR
    return this.#takeScalar(delta, i)
  }

  #open(container: JsonContainer, i: number, delta: string): number {
    const depth = this.#stack.length
    if (depth === MAX_JSON_DEPTH) return this.#fail(i, delta[i], `at most ${MAX_JSON_DEPTH} levels`, 'too-large')
    // Before it shows: a snapshot that a handler takes must not hold an open container.
    this.#options.onOpen?.(container, this)
    if (!this.#repeated) this.#place(container)
    else this.#shown = Math.min(this.#shown, depth)
    this.#stack.push(container)
    this.#segments.push(this.#segment)
    this.#top = container
    this.#inArray = Array.isArray(container)
    this.#state = this.#inArray ? FIRST_VALUE : FIRST_KEY
    return i + 1
  }

  #close(i: number): number {
    const closed = this.#stack.pop() as JsonContainer
    const depth = this.#stack.length
    const top = this.#stack[depth - 1]
    this.#segment = this.#segments.pop() as JsonSegment
    this.#top = top
    this.#inArray = Array.isArray(top)
    // Only one that was parsed aside does not stand in its place yet.
    this.#repeated = top !== undefined && (top as JsonObject)[this.#segment] !== closed
    if (this.#shown === depth) this.#shown = MAX_JSON_DEPTH
    if (this.#repeated) this.#place(closed)
    this.#complete(closed)
    return i + 1
  }

  #beginString(delta: string, i: number, isKey: boolean): number {
    this.#text = ''
    this.#isKey = isKey
    this.#state = STRING
    if (!isKey && !this.#repeated) this.#place('')
    return this.#takeString(delta, i + 1)
  }

  /** Takes what there is of a string, in slices as long as they come, and puts its growth in place once. */
  #takeString(delta: string, i: number): number {
    const end = delta.length
    let grown = this.#high
    this.#high = ''
    while (i < end) {
      if (this.#escape.open) {
        const unit = this.#escape.take(delta[i] as string)
        if (unit === undefined) {
          this.#grow(grown)
          return this.#fail(i, delta[i], 'an escape')
        }
        grown += unit
        i++
        continue
      }
      const start = i
      let code = 0
      while (i < end) {
        code = delta.charCodeAt(i)
        if (code === QUOTE || code === BACKSLASH || code < 32) break
        i++
      }
      if (i > start) grown += delta.slice(start, i)
      if (i === end) break
      if (code === BACKSLASH) {
        this.#escape.open = true
        i++
        continue
      }
      this.#grow(grown)
      if (code !== QUOTE) return this.#fail(i, delta[i])
      this.#endString()
      return i + 1
    }
    const last = grown.length - 1
    if (last >= 0 && (grown.charCodeAt(last) & 0xfc00) === 0xd800) {
      this.#high = grown.slice(last)
      grown = grown.slice(0, last)
    }
    this.#grow(grown)
    return i
  }

  #grow(grown: string): void {
    if (grown === '') return
    this.#text += grown
    if (this.#isKey) return
    if (!this.#repeated) this.#place(this.#text)
    this.#options.onGrow?.(grown, this)
  }

  #endString(): void {
    if (this.#isKey) {
      this.#segment = this.#text
      this.#state = COLON
    } else {
      if (this.#repeated) this.#place(this.#text)
      this.#complete(this.#text)
    }
  }

  /** Takes letters, digits, `+`, `-` and `.` in any order: what they mean is asked once, when they are over. */
  #takeScalar(delta: string, from: number): number {
    let i = from
    for (; i < delta.length; i++) {
      const code = delta.charCodeAt(i)
      const letter = code | 32
      if ((code < 48 || code > 57) && (letter < 97 || letter > 122) && code !== 43 && code !== 45 && code !== 46) break
    }
    this.#text += delta.slice(from, i)
    if (i < delta.length) this.#endScalar(i, delta[i])
    return i
  }

  #endScalar(i: number, next?: string): void {
    const text = this.#text
    const value = NUMBER.test(text) ? Number(text) : getOwn(WORDS, text)
    if (value === undefined) this.#fail(i - text.length, text || next)
    else {
      this.#place(value)
      this.#complete(value)
    }
  }

  #place(value: Json): void {
    if (this.#top === undefined) this.#value = value
    else put(this.#top, this.#segment, value)
    this.#changed ||= this.#stack.length <= this.#shown
  }

  #complete(value: Json): void {
    if (this.#top === undefined) this.#state = this.#options.strict ? TAIL : DONE
    else this.#state = this.#inArray ? AFTER_ITEM : AFTER_FIELD
    this.#options.onComplete?.(value, this)
  }

  /** Ends the parse; the loop in `push` sees it and drops the rest of the delta. */
  #fail(i: number, found?: string, expected = EXPECTED[this.#state], code: ProtocolErrorCode = 'invalid-json'): number {
    const what = found === undefined ? 'the end' : JSON.stringify(found.slice(0, 24))
    this.#error = new ProtocolError(code, `offset ${this.#offset + i}: expected ${expected}, found ${what}`)
    this.#state = FAILED
    return i
  }
}

function put(container: JsonContainer, segment: JsonSegment, value: Json): void {
  if (Array.isArray(container)) container[segment as number] = value
  else putOwn(container, segment as string, value)
}
