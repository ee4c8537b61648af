import type { Entry } from '@millrace/protocol'
import { decodeBatch } from './entry.ts'
import type { StoredBatch } from './log-store.ts'

/** A stored batch that is decoded when its entries are first read, once for all readers. Readers never change it. */
export class DecodedBatch {
  readonly stored: StoredBatch
  #entries: readonly Entry[] | undefined

  constructor(stored: StoredBatch) {
    this.stored = stored
  }

  get first(): number {
    return this.stored.first
  }

  get last(): number {
    return this.stored.last
  }

  get mark(): string {
    return this.stored.mark
  }

  get entries(): readonly Entry[] {
    this.#entries ??= decodeBatch(this.stored)
    return this.#entries
  }

  /** Length of the stored body, in characters. */
  get length(): number {
    return this.stored.body.length
  }
}
