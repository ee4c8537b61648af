import { type Cursor, decodeCursor, type Entry, encodeCursor, type UnprovenCursor } from '@millrace/protocol'
import { LogError } from '../store/log-error.ts'
import type { StreamStatus } from '../ticket/ticket.ts'
import type { BatchReader, ReaderOptions } from './batch-reader.ts'
import type { ReadBatch } from './read-batch.ts'

/** Where to read from. `fromSequence` is the name on the Helix page; both are exclusive. */
export interface ReadFrom extends Omit<ReaderOptions, 'after'> {
  /** A cursor token, or a sequence, which is not verified. */
  readonly after?: string | number
  readonly fromSequence?: number
}

/** An entry with its cursor. */
export interface ReadEntry extends Pick<Entry, 'sequence' | 'timestamp' | 'origin' | 'chunk' | 'blobs' | 'internal'> {
  /** The cursor at this entry: pass it as `after` to read on. */
  readonly cursor: string
}

/** An async iterator over a log's entries. Leaving the loop in any way closes the reader. */
export class Reading<T> implements AsyncIterableIterator<T> {
  readonly #reader: BatchReader
  readonly #show: (entry: Entry, cursor: Cursor | undefined) => T
  #piece: ReadBatch | undefined
  #index = 0
  #cursor: Cursor | string | undefined
  #turn: Promise<unknown> = Promise.resolve()

  /**
   * `show` gets the cursor at the entry, unless entries are merged. `after` is the token at which the reading begins.
   */
  constructor(reader: BatchReader, show: (entry: Entry, cursor: Cursor | undefined) => T, after?: string) {
    this.#reader = reader
    this.#show = show
    this.#cursor = after
  }

  /** The log's status, as last read. */
  get status(): StreamStatus {
    return this.#reader.status
  }

  /** The cursor after the last returned entry. Undefined before the first one, unless the reading began at a cursor. */
  get cursor(): string | undefined {
    return typeof this.#cursor === 'object' ? encodeCursor(this.#cursor) : this.#cursor
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<T, undefined>> {
    const turn = this.#turn.then(() => this.#next())
    this.#turn = turn.catch(() => {})
    return turn
  }

  async return(): Promise<IteratorResult<T, undefined>> {
    this.#piece = undefined
    this.#reader.close()
    return { done: true, value: undefined }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return()
  }

  async #next(): Promise<IteratorResult<T, undefined>> {
    if (this.#reader.isAborted) this.#piece = undefined
    while (this.#piece === undefined || this.#index >= this.#piece.entries.length) {
      this.#piece = await this.#reader.next()
      this.#index = 0
      if (this.#piece === undefined) return { done: true, value: undefined }
    }
    const { entries, cursor: pieceCursor } = this.#piece
    const entry = entries[this.#index++] as Entry
    // A merged entry covers several sequences: only the piece's cursor is after all of them.
    const cursor = this.#reader.isMerging ? undefined : this.#reader.cursorAt(entry.sequence)
    if (cursor) this.#cursor = cursor
    else if (this.#index === entries.length) this.#cursor = pieceCursor
    return { done: false, value: this.#show(entry, cursor) }
  }
}

/** An entry with its cursor, which is encoded on first use. */
export function withCursor(entry: Entry, cursor: Cursor): ReadEntry {
  return {
    ...entry,
    get cursor() {
      return encodeCursor(cursor)
    },
  }
}

/** Parses a token or a sequence; the beginning by default. */
export function parseCursor(cursor: string | number | undefined): Cursor | UnprovenCursor {
  if (cursor === undefined) return { sequence: 0 }
  try {
    // An argument of another type becomes a text that does not parse.
    return decodeCursor(typeof cursor === 'string' || typeof cursor === 'number' ? cursor : `a ${typeof cursor}`)
  } catch (error) {
    throw new LogError('invalid', (error as Error).message, { cause: error })
  }
}
