import { type Cursor, decodeCursor, type Entry, encodeCursor, type UnprovenCursor } from '@millrace/protocol'
import { LogError } from '../store/log-error.ts'
import type { StreamStatus } from '../ticket/ticket.ts'
import type { BatchReader, ReaderOptions } from './batch-reader.ts'
import type { ReadBatch } from './read-batch.ts'

/** Where to read from: the seed's name for it is accepted too, and both are exclusive. */
export interface ReadFrom extends Omit<ReaderOptions, 'after'> {
  /** A cursor's token, or a bare sequence, which is not proven. */
  readonly after?: string | number
  readonly fromSequence?: number
}

/** An entry as a reader shows it. */
export interface ReadEntry extends Pick<Entry, 'sequence' | 'timestamp' | 'origin' | 'chunk' | 'blobs' | 'internal'> {
  /** The place at this entry: what lies after it is read by `after`. */
  readonly cursor: string
}

/** An async iterator over what a reader finds; leaving it in any way lets everything go. */
export class Reading<T> implements AsyncIterableIterator<T> {
  readonly #reader: BatchReader
  readonly #show: (entry: Entry, place: Cursor | undefined) => T
  #piece: ReadBatch | undefined
  #index = 0
  #place: Cursor | string | undefined
  #turn: Promise<unknown> = Promise.resolve()

  /** `show` is told the place at the entry, where that stands for one alone; `after` is the token of the place where the reading begins. */
  constructor(reader: BatchReader, show: (entry: Entry, place: Cursor | undefined) => T, after?: string) {
    this.#reader = reader
    this.#show = show
    this.#place = after
  }

  /** The log's status, as far as this reader knows. */
  get status(): StreamStatus {
    return this.#reader.status
  }

  /** The place up to which everything was given, to read on `after` it; undefined before the first entry, unless the reading began at a cursor. */
  get cursor(): string | undefined {
    return typeof this.#place === 'object' ? encodeCursor(this.#place) : this.#place
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
    const { entries, cursor } = this.#piece
    const entry = entries[this.#index++] as Entry
    // What was merged lies in several places: only its piece has one that is surely after all of it.
    const place = this.#reader.isMerging ? undefined : this.#reader.placeAt(entry.sequence)
    if (place) this.#place = place
    else if (this.#index === entries.length) this.#place = cursor
    return { done: false, value: this.#show(entry, place) }
  }
}

/** An entry with its place, which is written out for who asks. */
export function shown(entry: Entry, place: Cursor): ReadEntry {
  return {
    ...entry,
    get cursor() {
      return encodeCursor(place)
    },
  }
}

/** The place that a token or a sequence names; the beginning if nothing is said. */
export function placeOf(place: string | number | undefined): Cursor | UnprovenCursor {
  if (place === undefined) return { sequence: 0 }
  try {
    // What is neither is written as what it is not.
    return decodeCursor(typeof place === 'string' || typeof place === 'number' ? place : `a ${typeof place}`)
  } catch (error) {
    throw new LogError('invalid', (error as Error).message, { cause: error })
  }
}
