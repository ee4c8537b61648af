// Replayed entries in windows whose deltas are merged, so that a late client gets few events instead of every token.

import { coalesce, type Entry, isGuest } from '@millrace/protocol'

/** Entries from `first` to `last`, without a gap in their sequences. A window of several entries has only deltas, which are merged. */
export interface EntryWindow {
  readonly first: number
  readonly last: number
  readonly entries: readonly Entry[]
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

  constructor(options: EntryWindowsOptions = {}) {
    this.#options = options
  }

  /** Adds entries that were read at once. Those up to `replayEnd` are a replay. Yields the complete windows. */
  *add(entries: readonly Entry[], replayEnd: number): Generator<EntryWindow, void, undefined> {
    for (const entry of entries) {
      const length = entry.sequence <= replayEnd ? deltaLengthOf(entry) : undefined
      if (!this.#continues(entry, length)) yield* this.end()
      if (length === undefined) yield windowOf(entry)
      else {
        this.#open.push(entry)
        this.#length += length
      }
    }
    const { first = 0, last = 0 } = this.#options.resumed ?? {}
    const { sequence = 0 } = this.#open.at(-1) ?? {}
    // The window of a client is complete only at its last entry.
    if (sequence < first || sequence >= last) yield* this.end()
  }

  /** Yields the rest. */
  *end(): Generator<EntryWindow, void, undefined> {
    const deltas = this.#open
    const [first] = deltas
    const last = deltas.at(-1)
    if (first === undefined || last === undefined) return
    this.#open = []
    this.#length = 0
    const entries = coalesce(deltas)
    if (this.#options.isSinglePart && entries.length > 1) yield* deltas.map(windowOf)
    else yield { first: first.sequence, last: last.sequence, entries }
  }

  /** Whether an entry belongs to the open window. */
  #continues(entry: Entry, length: number | undefined): boolean {
    const previous = this.#open.at(-1)
    if (previous === undefined || length === undefined || entry.sequence !== previous.sequence + 1) return false
    const { resumed, isSinglePart } = this.#options
    if (entry.sequence === resumed?.first || previous.sequence === resumed?.last) return false
    if (isSinglePart && partOf(entry) !== partOf(previous)) return false
    return this.#open.length < MAX_ENTRIES && this.#length + length <= MAX_LENGTH
  }
}

const windowOf = (entry: Entry): EntryWindow => ({ first: entry.sequence, last: entry.sequence, entries: [entry] })

/** The length of a delta that may be merged. Undefined for any other entry. */
function deltaLengthOf({ chunk, origin, blobs, internal }: Entry): number | undefined {
  if (isGuest(origin) || blobs || internal) return undefined
  if ('delta' in chunk && typeof chunk.delta === 'string') return chunk.delta.length
  return chunk.type === 'structured-data' && chunk.kind === 'append' ? JSON.stringify(chunk.items).length : undefined
}

/** The part that a delta belongs to. */
function partOf({ chunk, origin }: Entry): string {
  const { id, toolCallId, streamId } = chunk as { id?: string; toolCallId?: string; streamId?: string }
  return JSON.stringify([chunk.type, id ?? toolCallId ?? streamId, isGuest(origin) ? '' : origin.lane])
}
