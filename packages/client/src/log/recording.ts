// A session as a file: a line that says what it is, then an entry a line, as JSON.

import { type Entry, Fold, ProtocolError, type View, validateEntry } from '@millrace/protocol'
import { LineSplitter } from '@millrace/protocol/internal'

/** The version of the file that this package writes. */
const RECORDING_VERSION = 1
/** No entry is longer, by far, in characters. */
const MOST_LINE = 64 * 1024 * 1024

/** A session as it was recorded. */
export interface Recording {
  readonly sessionId: string
  readonly entries: readonly Entry[]
  /** What came before the first entry, where that was not in the log any more. */
  readonly base?: View | undefined
}

/** A recording as the lines of a `.jsonl` file, each with its end. */
export function* encodeRecording({ sessionId, entries, base }: Recording): Generator<string> {
  yield `${JSON.stringify({ millrace: 'session', version: RECORDING_VERSION, sessionId, ...(base && { base }) })}\n`
  for (const entry of entries) yield `${JSON.stringify(entry)}\n`
}

/** Reads a recording that comes in any pieces; throws a `ProtocolError` that names the line where it is none. */
export class RecordingDecoder {
  readonly #lines = new LineSplitter()
  readonly #entries: Entry[] = []
  #header: { readonly sessionId: string; readonly base?: View } | undefined
  #line = 0
  readonly #mostLine: number

  /** Takes lines of so many characters at most. */
  constructor(mostLine: number = MOST_LINE) {
    this.#mostLine = mostLine
  }

  /** The entries that have come. */
  get entries(): readonly Entry[] {
    return this.#entries
  }

  push(text: string): void {
    for (const line of this.#lines.push(text)) this.#take(line)
    if (this.#lines.length <= this.#mostLine) return
    this.#line++
    throw this.#wrong('line-too-long', `expected at most ${this.#mostLine} characters`)
  }

  /** The recording, once all has come. */
  end(): Recording {
    this.#take(this.#lines.end())
    if (this.#header === undefined) throw this.#wrong('stream-cut', 'expected a recording of a session, found nothing')
    return { ...this.#header, entries: this.#entries }
  }

  #take(line: string): void {
    this.#line++
    if (line.trim() === '') return
    let value: unknown
    try {
      value = JSON.parse(line)
    } catch {
      throw this.#wrong('invalid-json', 'expected JSON')
    }
    if (this.#header === undefined) this.#header = this.#headerOf(value)
    else this.#entries.push(this.#entryOf(value))
  }

  #headerOf(value: unknown) {
    const { millrace, version, sessionId, base } = Object(value) as Record<string, unknown>
    if (millrace !== 'session' || typeof sessionId !== 'string') {
      throw this.#wrong('stream-mismatch', 'expected the first line of a recorded session')
    }
    if (version !== RECORDING_VERSION) {
      throw this.#wrong(
        'stream-mismatch',
        `expected version ${RECORDING_VERSION} of the format, found ${JSON.stringify(version)}`,
      )
    }
    return { sessionId, ...(base !== undefined && { base: this.#baseOf(base) }) }
  }

  /** A view that a fold can go on from: that is all that is asked of it. */
  #baseOf(value: unknown): View {
    try {
      return Fold.from(Object(value) as View).view()
    } catch (error) {
      throw this.#wrong('invalid-view', error instanceof Error ? error.message : String(error))
    }
  }

  #entryOf(value: unknown): Entry {
    let entry: Entry
    try {
      entry = validateEntry(value)
    } catch (error) {
      throw this.#wrong('invalid-chunk', error instanceof Error ? error.message : String(error))
    }
    const last = this.#entries.at(-1)?.sequence ?? this.#header?.base?.head ?? 0
    if (entry.sequence <= last) {
      throw this.#wrong('stream-mismatch', `expected a sequence above ${last}, found ${entry.sequence}`)
    }
    return entry
  }

  #wrong(code: ProtocolError['code'], why: string): ProtocolError {
    return new ProtocolError(code, `line ${this.#line}: ${why}`)
  }
}
