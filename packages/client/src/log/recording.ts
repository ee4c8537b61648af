// A session as a JSON Lines file: a header line, then one entry per line.

import { type Entry, Fold, ProtocolError, type View, validateEntry } from '@millrace/protocol'
import { LineSplitter } from '@millrace/protocol/internal'

/** Version of the file format. */
const RECORDING_VERSION = 1
/** Default of the longest line, in characters. */
const MAX_LINE_LENGTH = 64 * 1024 * 1024

/** A recorded session. */
export interface Recording {
  /** Id of the recorded session. */
  readonly sessionId: string
  /** All entries, in order. */
  readonly entries: readonly Entry[]
  /** View before the first entry, if the log was trimmed. */
  readonly base?: View | undefined
}

/** Yields the lines of a `.jsonl` file, with their line ends. */
export function* encodeRecording({ sessionId, entries, base }: Recording): Generator<string> {
  yield `${JSON.stringify({ millrace: 'session', version: RECORDING_VERSION, sessionId, ...(base && { base }) })}\n`
  for (const entry of entries) yield `${JSON.stringify(entry)}\n`
}

/** Decodes a recording from text pieces of any size. */
export class RecordingDecoder {
  readonly #lines = new LineSplitter()
  readonly #entries: Entry[] = []
  #header: { readonly sessionId: string; readonly base?: View } | undefined
  #lineNumber = 0
  readonly #maxLineLength: number

  /** @param maxLineLength Longest line, in characters. @default 67_108_864 */
  constructor(maxLineLength: number = MAX_LINE_LENGTH) {
    this.#maxLineLength = maxLineLength
  }

  /** Entries decoded so far. */
  get entries(): readonly Entry[] {
    return this.#entries
  }

  /** Decodes the next piece of the file. @throws a `ProtocolError` with the number of an invalid line. */
  push(text: string): void {
    for (const line of this.#lines.push(text)) this.#readLine(line)
    if (this.#lines.length <= this.#maxLineLength) return
    this.#lineNumber++
    throw this.#error('line-too-long', `expected at most ${this.#maxLineLength} characters`)
  }

  /**
   * Returns the recording after the last piece.
   * @throws a `ProtocolError` if the recording is empty or its last line is invalid.
   */
  end(): Recording {
    this.#readLine(this.#lines.end())
    if (this.#header === undefined) throw this.#error('stream-cut', 'expected a recording of a session, found nothing')
    return { ...this.#header, entries: this.#entries }
  }

  #readLine(line: string): void {
    this.#lineNumber++
    if (line.trim() === '') return
    let value: unknown
    try {
      value = JSON.parse(line)
    } catch {
      throw this.#error('invalid-json', 'expected JSON')
    }
    if (this.#header === undefined) this.#header = this.#headerOf(value)
    else this.#entries.push(this.#entryOf(value))
  }

  #headerOf(value: unknown) {
    const { millrace, version, sessionId, base } = Object(value) as Record<string, unknown>
    if (millrace !== 'session' || typeof sessionId !== 'string') {
      throw this.#error('stream-mismatch', 'expected the first line of a recorded session')
    }
    if (version !== RECORDING_VERSION) {
      throw this.#error(
        'stream-mismatch',
        `expected version ${RECORDING_VERSION} of the format, found ${JSON.stringify(version)}`,
      )
    }
    return { sessionId, ...(base !== undefined && { base: this.#baseOf(base) }) }
  }

  /** Checks only that a fold accepts the view. */
  #baseOf(value: unknown): View {
    try {
      return Fold.from(Object(value) as View).view()
    } catch (error) {
      throw this.#error('invalid-view', error instanceof Error ? error.message : String(error))
    }
  }

  #entryOf(value: unknown): Entry {
    let entry: Entry
    try {
      entry = validateEntry(value)
    } catch (error) {
      throw this.#error('invalid-chunk', error instanceof Error ? error.message : String(error))
    }
    const last = this.#entries.at(-1)?.sequence ?? this.#header?.base?.head ?? 0
    if (entry.sequence <= last) {
      throw this.#error('stream-mismatch', `expected a sequence above ${last}, found ${entry.sequence}`)
    }
    return entry
  }

  #error(code: ProtocolError['code'], message: string): ProtocolError {
    return new ProtocolError(code, `line ${this.#lineNumber}: ${message}`)
  }
}
