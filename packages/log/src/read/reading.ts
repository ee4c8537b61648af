import { type Cursor, decodeCursor, type Entry, encodeCursor, type UnprovenCursor } from '@millrace/protocol'
import { LogError } from '../store/log-error.ts'
import type { StreamStatus } from '../ticket/ticket.ts'
import type { BatchReader, ReaderOptions } from './batch-reader.ts'
import type { ReadBatch } from './read-batch.ts'

/** Where to read from. `fromSequence` is the name in the documentation of Helix. Both are exclusive. */
export interface ReadFrom extends Omit<ReaderOptions, 'after'> {
  /** A cursor token, or a sequence, which is not verified. */
  readonly after?: string | number
  /** The same as a sequence in `after`. */
  readonly fromSequence?: number
}

/** An entry with its cursor. */
export interface ReadEntry extends Pick<Entry, 'sequence' | 'timestamp' | 'origin' | 'chunk' | 'blobs' | 'internal'> {
  /** The cursor at this entry: pass it as `after` to continue there. */
  readonly cursor: string
}

/** An async iterator over a log's entries. Leaving the loop in any way closes the reader. */
export class Reading<T> implements AsyncIterableIterator<T> {
  readonly #reader: BatchReader
  readonly #map: (entry: Entry, cursor: Cursor | undefined) => T
  #batch: ReadBatch | undefined
  #index = 0
  #cursor: Cursor | string | undefined
  #lastCall: Promise<unknown> = Promise.resolve()

  /**
   * `map` gets the cursor at the entry, unless entries are merged. `after` is the cursor from which it reads.
   */
  constructor(reader: BatchReader, map: (entry: Entry, cursor: Cursor | undefined) => T, after?: string) {
    this.#reader = reader
    this.#map = map
    this.#cursor = after
  }

  /** The log's status, as last read. */
  get status(): StreamStatus {
    return this.#reader.status
  }

  /** The cursor after the last returned entry. Undefined before the first one, unless it reads from a cursor. */
  get cursor(): string | undefined {
    return typeof this.#cursor === 'object' ? encodeCursor(this.#cursor) : this.#cursor
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** Reads the next entry. Waits while the reader may still get one. */
  next(): Promise<IteratorResult<T, undefined>> {
    const call = this.#lastCall.then(() => this.#next())
    this.#lastCall = call.catch(() => {})
    return call
  }

  /** Closes the reader. */
  async return(): Promise<IteratorResult<T, undefined>> {
    this.#batch = undefined
    this.#reader.close()
    return { done: true, value: undefined }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return()
  }

  async #next(): Promise<IteratorResult<T, undefined>> {
    if (this.#reader.isAborted) this.#batch = undefined
    while (this.#batch === undefined || this.#index >= this.#batch.entries.length) {
      this.#batch = await this.#reader.next()
      this.#index = 0
      if (this.#batch === undefined) return { done: true, value: undefined }
    }
    const { entries, cursor: batchCursor } = this.#batch
    const entry = entries[this.#index++] as Entry
    // A merged entry covers several sequences: only the batch's cursor is after all of them.
    const cursor = this.#reader.isMerging ? undefined : this.#reader.cursorAt(entry.sequence)
    if (cursor) this.#cursor = cursor
    else if (this.#index === entries.length) this.#cursor = batchCursor
    return { done: false, value: this.#map(entry, cursor) }
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
    // Passes other types on as a text that fails to parse.
    return decodeCursor(typeof cursor === 'string' || typeof cursor === 'number' ? cursor : `a ${typeof cursor}`)
  } catch (error) {
    throw new LogError('invalid', (error as Error).message, { cause: error })
  }
}
