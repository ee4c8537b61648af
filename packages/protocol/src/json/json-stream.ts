import { mismatch, type ProtocolError, show } from '../error/protocol-error.ts'
import type { Json } from './json.ts'
import { ANYTHING, END, JsonParser, type JsonSegment, MAX_JSON_DEPTH, MORE_VALUE } from './json-parser.ts'

// The invariants. json-stream.test.ts has a property test for each:
//
//  1. A complete value never changes. (For a repeated key the last value wins, as in `JSON.parse`. The new value stays
//     hidden until it is complete, and then replaces the old one at once.)
//  2. Arrays only grow at their end, objects only gain keys, and only the last value is partial.
//  3. Strings only grow, by complete characters: never half an escape, never half a surrogate pair.
//  4. Any split of the input gives the same value, the same completions in the same order, and the same error.
//  5. In strict mode the result equals `JSON.parse`: it accepts the same texts, with the same value, down to MAX_JSON_DEPTH.
//  6. Numbers, `true`, `false` and `null` appear when they are complete; a key appears with the start of its value.
//  7. After a failure the value stays as it was, and further text is ignored. `push` never throws.
//  8. A snapshot never changes. It shares all complete values, and is the same object until something changes.
//  9. The cost of a push depends only on its own length: nothing is read twice.
//
// Outside strict mode, a bracket that fails to parse before anything in it was reported was prose: the value is dropped,
// and the search continues at the position of the failure. So 1, 2, 3 and 7 hold from the first report on.

/** Whether a document is incomplete, complete, or invalid. */
export type JsonStatus = 'partial' | 'done' | 'failed'

/** The path of a value in the document. The stream mutates the array: copy it to keep it. */
export type JsonPath = readonly JsonSegment[]

/**
 * Listeners of a `JsonStream`. Only strings report growth. Arrays and objects report the values that complete in them. The
 * value of a repeated key is reported once, when it is complete. Handlers must not throw.
 */
export interface JsonHandler {
  /** The open string grew by `delta`. At most one call per push and string, never with an empty delta. */
  onGrow?(delta: string, path: JsonPath): void
  /** A value is complete and will not change. `repeated`: it replaced an earlier value of the same key. */
  onComplete?(value: Json, path: JsonPath, repeated: boolean): void
}

/** Options of a JSON stream. */
export interface JsonStreamOptions extends JsonHandler {
  /**
   * Requires the text to be exactly one JSON document, as `JSON.parse` does. Otherwise the document is an object or an
   * array, and text before it (prose, a code fence) and after it is skipped. Brackets in the prose are skipped too, unless
   * they are JSON themselves or begin with a complete value or text: `Result [1]: {"a":1}` gives `[1]`.
   * @default false
   */
  strict?: boolean
}

/** The start of a document outside strict mode, as error text. */
const DOCUMENT = '"{" or "["'

/** Incremental JSON parser: parses one document as its text arrives. The partial value can be read at any time. */
export class JsonStream extends JsonParser {
  readonly #options: JsonStreamOptions
  #offset = 0
  #error: ProtocolError | undefined
  /** Whether the current text may still be prose. `#proseError` is why the last candidate was not a document. */
  #inProse: boolean
  #proseError: ProtocolError | undefined

  constructor(options: JsonStreamOptions = {}) {
    super()
    this.#options = options
    this.#inProse = !options.strict
    if (this.#inProse) this.awaits = DOCUMENT
  }

  /** The value so far. Later pushes mutate it. Undefined until the document starts. */
  get value(): Json | undefined {
    return this.root
  }

  /** In strict mode, text after the document can still change `done` to `failed`, until `end()`. */
  get status(): JsonStatus {
    return this.#error ? 'failed' : this.awaits === END || this.awaits === ANYTHING ? 'done' : 'partial'
  }

  /** The failure: the offset, what was expected and what was found. */
  get error(): ProtocolError | undefined {
    return this.#error
  }

  /** Parses the next piece of text, of any length. Never throws: see `status` and `error`. */
  override push(delta: string): void {
    super.push(delta)
    this.#offset += delta.length
  }

  /** Ends the text. Returns whether the document is complete; if not, `status` is `failed`. */
  end(): boolean {
    if (this.awaits === MORE_VALUE && !this.stack.length) this.endScalar(0)
    if (this.awaits === END) this.awaits = ANYTHING
    if (this.awaits !== ANYTHING) this.fail(0)
    return this.#error === undefined
  }

  protected override takeChar(char: string, i: number): number {
    if (this.awaits !== DOCUMENT) return super.takeChar(char, i)
    return char === '{' || char === '[' ? this.begin(char, i) : i + 1
  }

  protected override grew(delta: string): void {
    this.#inProse = false
    this.#options.onGrow?.(delta, this.path)
  }

  protected override completed(value: Json, repeated: boolean): void {
    if (this.awaits === END && !this.#options.strict) this.awaits = ANYTHING
    this.#inProse = false
    this.#options.onComplete?.(value, this.path, repeated)
  }

  /** Ends the parse, or treats the text so far as prose. */
  protected override fail(i: number, found?: string, tooDeep = false): number {
    const { awaits } = this
    const expected = tooDeep ? `at most ${MAX_JSON_DEPTH} levels` : this.escape && found ? 'an escape' : awaits
    const code = tooDeep ? 'too-large' : 'invalid-json'
    const error = mismatch(code, `offset ${this.#offset + i}`, expected, show(found) ?? END)
    if (this.#inProse && found !== undefined && !tooDeep) {
      this.#proseError = error
      this.awaits = DOCUMENT
      this.root = undefined
      this.changed = true
      this.escape = ''
      this.stack.length = this.path.length = 0
    } else {
      this.#error = (expected === DOCUMENT && this.#proseError) || error
      this.awaits = ANYTHING
    }
    return i
  }
}
