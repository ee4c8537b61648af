import { mismatch, type ProtocolError, show } from '../error/protocol-error.ts'
import type { Json } from './json.ts'
import { ANYTHING, END, JsonParser, type JsonSegment, MAX_JSON_DEPTH, MORE_VALUE } from './json-parser.ts'

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

export type JsonStatus = 'partial' | 'done' | 'failed'

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

/** What a document out of strict mode begins with, in the words of an error. */
const DOCUMENT = '"{" or "["'

/** Parses one JSON document as its text arrives, and holds its value at every moment. */
export class JsonStream extends JsonParser {
  readonly #options: JsonStreamOptions
  #offset = 0
  #error: ProtocolError | undefined
  /** Whether what stands here may still be prose, and why what last seemed a document was none. */
  #inProse: boolean
  #missed: ProtocolError | undefined

  constructor(options: JsonStreamOptions = {}) {
    super()
    this.#options = options
    this.#inProse = !options.strict
    if (this.#inProse) this.awaits = DOCUMENT
  }

  /** The value as far as it came, live: later pushes go on in it. `undefined` before its first sign. */
  get value(): Json | undefined {
    return this.root
  }

  /** In strict mode what follows the document may still turn `done` into `failed`, until `end()`. */
  get status(): JsonStatus {
    return this.#error ? 'failed' : this.awaits === END || this.awaits === ANYTHING ? 'done' : 'partial'
  }

  /** Why it failed: the offset, what was expected and what was found. */
  get error(): ProtocolError | undefined {
    return this.#error
  }

  /** Goes on with the next piece of text, of any length. Never throws: see `status` and `error`. */
  override push(delta: string): void {
    super.push(delta)
    this.#offset += delta.length
  }

  /** Says that the text is over, and tells whether a whole document was seen; if not, it failed. */
  end(): boolean {
    if (this.awaits === MORE_VALUE && !this.stack.length) this.endScalar(0)
    if (this.awaits === END) this.awaits = ANYTHING
    if (this.awaits !== ANYTHING) this.fail(0)
    return this.#error === undefined
  }

  protected override takeMark(char: string, i: number): number {
    if (this.awaits !== DOCUMENT) return super.takeMark(char, i)
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

  /** Ends the parse, or takes what there is for prose. */
  protected override fail(i: number, found?: string, tooDeep = false): number {
    const { awaits } = this
    const expected = tooDeep ? `at most ${MAX_JSON_DEPTH} levels` : this.escape && found ? 'an escape' : awaits
    const code = tooDeep ? 'too-large' : 'invalid-json'
    const error = mismatch(code, `offset ${this.#offset + i}`, expected, show(found) ?? END)
    if (this.#inProse && found !== undefined && !tooDeep) {
      this.#missed = error
      this.awaits = DOCUMENT
      this.root = undefined
      this.changed = true
      this.escape = ''
      this.stack.length = this.path.length = 0
    } else {
      this.#error = (expected === DOCUMENT && this.#missed) || error
      this.awaits = ANYTHING
    }
    return i
  }
}
