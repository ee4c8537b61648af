// What a writer wants to append and has not sent yet, in order. Words wait here for their company; a batch stays whole.

import { type Chunk, coalesce, type Entry, type WriterOrigin } from '@millrace/protocol'
import type { NewEntry } from '../entry.ts'
import type { Accepted } from '../store.ts'
import type { NewBlob } from './blobs.ts'

/** What became of a write: where the append lies that carries it, or that its lane's discard dropped it before it was sent. */
export type Written = Accepted | { readonly outcome: 'dropped' }

/** The promise of what becomes of all the writes that go out together. */
export class Flight {
  // Nobody need ask; a failure that nobody asks about stops the writer, which tells.
  #deferred: PromiseWithResolvers<Written> | undefined
  #settled: { written: Written } | { error: unknown } | undefined

  get promise(): Promise<Written> {
    if (this.#deferred === undefined) {
      this.#deferred = Promise.withResolvers()
      this.#deferred.promise.catch(() => {})
      if (this.#settled) this.#tell(this.#settled)
    }
    return this.#deferred.promise
  }

  resolve(written: Written): void {
    this.#settled = { written }
    this.#tell(this.#settled)
  }

  reject(error: unknown): void {
    this.#settled = { error }
    this.#tell(this.#settled)
  }

  #tell(settled: { written: Written } | { error: unknown }): void {
    if ('error' in settled) this.#deferred?.reject(settled.error)
    else this.#deferred?.resolve(settled.written)
  }
}

/** One write, or one batch that goes out whole. */
export interface Slot {
  readonly entries: readonly NewEntry[]
  readonly blobs: readonly NewBlob[]
  readonly bytes: number
  /** A delta may wait for others and be merged with them. */
  readonly isDelta: boolean
  /** A word is dropped by the discard of its lane. */
  readonly isWord: boolean
  readonly flight: Flight
}

/** What goes out in one append. */
export interface Load {
  readonly entries: readonly NewEntry[]
  readonly blobs: readonly NewBlob[]
  readonly slots: readonly Slot[]
}

export class Queue {
  #slots: Slot[] = []
  #bytes = 0
  #deltas = 0

  get bytes(): number {
    return this.#bytes
  }

  get length(): number {
    return this.#slots.length
  }

  /** Whether all that waits may wait on for more. */
  get isWaiting(): boolean {
    return this.#deltas === this.#slots.length
  }

  push(slot: Slot): void {
    this.#slots.push(slot)
    this.#bytes += slot.bytes
    if (slot.isDelta) this.#deltas++
  }

  /** Takes as much from the front as fits into one append, at least one slot; deltas of one part are merged. */
  take(maxBytes: number): Load {
    let bytes = 0
    let count = 0
    for (const slot of this.#slots) {
      if (count > 0 && bytes + slot.bytes > maxBytes) break
      bytes += slot.bytes
      count++
    }
    const slots = this.#slots.splice(0, count)
    this.#bytes -= bytes
    for (const slot of slots) if (slot.isDelta) this.#deltas--
    return { entries: merge(slots.flatMap(slot => slot.entries)), blobs: slots.flatMap(slot => slot.blobs), slots }
  }

  /** Drops the words that a lane still has here. */
  drop({ runId, lane, agentId }: WriterOrigin): void {
    const [kept, gone]: [Slot[], Slot[]] = [[], []]
    for (const slot of this.#slots) {
      const origin = slot.entries[0]?.origin as WriterOrigin
      const isOwn = slot.isWord && origin.runId === runId && origin.lane === lane && origin.agentId === agentId
      ;(isOwn ? gone : kept).push(slot)
    }
    this.#slots = kept
    for (const slot of gone) {
      this.#bytes -= slot.bytes
      if (slot.isDelta) this.#deltas--
      slot.flight.resolve({ outcome: 'dropped' })
    }
  }

  /** Tells everybody who waits that it went wrong. */
  fail(error: unknown): void {
    for (const { flight } of this.#slots) flight.reject(error)
    this.#slots = []
    this.#bytes = this.#deltas = 0
  }
}

const merge = (entries: readonly NewEntry[]): readonly NewEntry[] =>
  // Merging looks at origins and chunks alone, and an entry without a place has both.
  entries.length === 1 ? entries : coalesce(entries as Entry[])

/** The field of a chunk that may be said in pieces, if it is a delta. */
export function deltaOf(chunk: Chunk): string | undefined {
  const { delta } = chunk as { delta?: unknown }
  return typeof delta === 'string' ? delta : undefined
}
