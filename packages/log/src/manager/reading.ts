import { type Cursor, type Entry, encodeCursor } from '@millrace/protocol'
import type { StreamStatus } from '../ticket/ticket.ts'
import type { BatchReader, ReadBatch } from './reader.ts'

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
