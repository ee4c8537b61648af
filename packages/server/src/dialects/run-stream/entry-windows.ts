// Replayed entries in windows whose deltas are merged, so that a late client gets few events instead of every token.

import { coalesce, type Entry, isGuest } from '@millrace/protocol'

/** Entries from `first` to `last`, without a gap in their sequences. A window of several entries has only deltas, which are merged. */
export interface EntryWindow {
  readonly first: number
  readonly last: number
  readonly entries: readonly Entry[]
  /** The position after `last`. */
  readonly position: string
}

/** A page of the log. */
export interface EntryPage {
  readonly entries: readonly Entry[]
  /** The log was read up to this sequence. */
  readonly reached: number
  /** Entries up to this sequence are a replay. */
  readonly replayEnd: number
  /** The position after an entry of the page. */
  readonly positionAt: (sequence: number) => string
}

/** Options of the windows of a stream. */
export interface EntryWindowsOptions {
  /** The window of the last event that a client has. It is formed again, so that its events are the same. @default none */
  readonly resumed?: { readonly first: number; readonly last: number } | undefined
  /** Whether a window has the deltas of one part only, so that it is one entry. @default false */
  readonly isSinglePart?: boolean | undefined
}

/** Maximum number of entries of a window. */
const MAX_ENTRIES = 4096
/** Maximum length of the deltas of a window, in characters. */
const MAX_LENGTH = 256 * 1024

/** Forms the windows of a stream. Deltas that are in the log when the stream is opened are merged, later entries are windows of their own. */
export class EntryWindows {
  readonly #options: EntryWindowsOptions
  /** The deltas of the window that is not complete. */
  #open: Entry[] = []
  #length = 0
  /** The position after the last entry of that window. */
  #positionAt: EntryPage['positionAt'] = String

  constructor(options: EntryWindowsOptions = {}) {
    this.#options = options
  }

  /** Whether added entries wait for more of their window. A client does not have them yet. */
  get isOpen(): boolean {
    return this.#open.length > 0
  }

  /** Adds the next page. Yields the complete windows. A window continues over pages of a replay: their size in bytes does not count. */
  *add({ entries, reached, replayEnd, positionAt }: EntryPage): Generator<EntryWindow, void, undefined> {
    for (const entry of entries) {
      const length = entry.sequence <= replayEnd ? deltaLengthOf(entry) : undefined
      if (!this.#continues(entry, length)) yield* this.end()
      this.#positionAt = positionAt
      this.#open.push(entry)
      this.#length += length ?? 0
      if (length === undefined) yield* this.end()
    }
    const { first = 0, last = 0 } = this.#options.resumed ?? {}
    const { sequence } = this.#open.at(-1) ?? {}
    if (sequence === undefined) return
    // The window of a client is complete only at its last entry.
    if (reached >= replayEnd && (sequence < first || sequence >= last)) yield* this.end()
    else {
      // The reader does not know positions of earlier pages.
      const position = positionAt(sequence)
      this.#positionAt = () => position
    }
  }

  /** Yields the rest. */
  *end(): Generator<EntryWindow, void, undefined> {
    const [first] = this.#open
    const last = this.#open.at(-1)
    if (first === undefined || last === undefined) return
    const entries = coalesce(this.#open)
    this.#open = []
    this.#length = 0
    const position = this.#positionAt(last.sequence)
    yield { first: first.sequence, last: last.sequence, entries, position }
  }

  /** Whether an entry belongs to the open window. */
  #continues(entry: Entry, length: number | undefined): boolean {
    const previous = this.#open.at(-1)
    if (previous === undefined || length === undefined || entry.sequence !== previous.sequence + 1) return false
    const { resumed, isSinglePart } = this.#options
    if (entry.sequence === resumed?.first || previous.sequence === resumed?.last) return false
    if (isSinglePart && coalesce([previous, entry]).length > 1) return false
    return this.#open.length < MAX_ENTRIES && this.#length + length <= MAX_LENGTH
  }
}

/** The length of a delta that may be merged. Undefined for any other entry. */
function deltaLengthOf({ chunk, origin, blobs, internal }: Entry): number | undefined {
  if (isGuest(origin) || blobs || internal) return undefined
  if ('delta' in chunk && typeof chunk.delta === 'string') return chunk.delta.length
  return chunk.type === 'structured-data' && chunk.kind === 'append' ? JSON.stringify(chunk.items).length : undefined
}
