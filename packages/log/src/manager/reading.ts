import type { Entry } from '@millrace/protocol'
import type { StreamStatus } from '../ticket/ticket.ts'
import type { BatchReader } from './reader.ts'

/** An async iterator over what a reader finds; leaving it in any way lets everything go. */
export class Reading<T> implements AsyncIterableIterator<T> {
  readonly #reader: BatchReader
  readonly #show: (entry: Entry) => T
  #entries: readonly Entry[] = []
  #index = 0
  #turn: Promise<unknown> = Promise.resolve()

  constructor(reader: BatchReader, show: (entry: Entry) => T) {
    this.#reader = reader
    this.#show = show
  }

  /** The log's status, as far as this reader knows. */
  get status(): StreamStatus {
    return this.#reader.status
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
    this.#entries = []
    this.#reader.close()
    return { done: true, value: undefined }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return()
  }

  async #next(): Promise<IteratorResult<T, undefined>> {
    while (this.#index >= this.#entries.length) {
      const batch = await this.#reader.next()
      if (batch === undefined) return { done: true, value: undefined }
      this.#entries = batch.entries
      this.#index = 0
    }
    return { done: false, value: this.#show(this.#entries[this.#index++] as Entry) }
  }
}
