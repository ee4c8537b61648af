// The queue of a writer, in order. Deltas wait for others; a batch is never split; a turn runs exclusively.

import { coalesce, type Entry } from '@millrace/protocol'
import type { NewBlob } from '../store/blobs.ts'
import type { NewEntry } from '../store/entry.ts'
import type { Draft } from './drafts.ts'
import type { Slot, WriteSlot } from './slot.ts'

/** Exclusive work. Runs after everything that was queued earlier, and before everything that is queued later. */
export interface QueueTurn {
  run(): Promise<void>
  fail(error: unknown): void
}

/** The content of one append. */
export interface AppendContent {
  readonly entries: readonly NewEntry[]
  readonly blobs: readonly NewBlob[]
  readonly slots: readonly Slot[]
}

const isTurn = (item: Slot | QueueTurn): item is QueueTurn => 'run' in item

export class Queue {
  #items: (Slot | QueueTurn)[] = []
  #bytes = 0
  #deltas = 0

  get bytes(): number {
    return this.#bytes
  }

  get isEmpty(): boolean {
    return this.#items.length === 0
  }

  /** Whether everything in the queue may wait for more. */
  get mayWait(): boolean {
    return this.#deltas === this.#items.length
  }

  push(item: Slot | QueueTurn): void {
    this.#items.push(item)
    if (!isTurn(item)) this.#count(item, 1)
  }

  /** Takes the turn at the front, if there is one. */
  takeTurn(): QueueTurn | undefined {
    const [first] = this.#items
    if (first === undefined || !isTurn(first)) return undefined
    this.#items.shift()
    return first
  }

  /**
   * Takes as many slots from the front as fit into one append: a batch that may not join others alone, otherwise
   * slots up to the next turn.
   */
  takeSlots(maxBytes: number, mayJoin: (slot: Slot) => boolean): Slot[] {
    let bytes = 0
    const slots: Slot[] = []
    for (const item of this.#items) {
      if (isTurn(item)) break
      const joins = mayJoin(item)
      if (slots.length > 0 && (!joins || bytes + item.bytes > maxBytes)) break
      bytes += item.bytes
      slots.push(item)
      if (!joins) break
    }
    this.#items.splice(0, slots.length)
    for (const slot of slots) this.#count(slot, -1)
    return slots
  }

  /** The queued chunks of these drafts. */
  slotsOf(drafts: ReadonlySet<Draft>): readonly WriteSlot[] {
    const isOf = (item: Slot | QueueTurn): item is WriteSlot =>
      !isTurn(item) && item.draft !== undefined && drafts.has(item.draft)
    return this.#items.filter(isOf)
  }

  /** Removes the chunks of a draft, and resolves their writes as dropped. */
  drop(draft: Draft): void {
    const items: (Slot | QueueTurn)[] = []
    for (const item of this.#items) {
      if (isTurn(item) || item.isBatch || item.draft !== draft) items.push(item)
      else {
        this.#count(item, -1)
        item.result.resolve({ outcome: 'dropped' })
      }
    }
    this.#items = items
  }

  /** Rejects everything in the queue. */
  fail(error: unknown): void {
    const items = this.#items
    this.#items = []
    this.#bytes = this.#deltas = 0
    for (const item of items) {
      if (isTurn(item)) item.fail(error)
      else item.result.reject(error)
    }
  }

  #count(slot: Slot, sign: 1 | -1): void {
    this.#bytes += sign * slot.bytes
    if (slot.isDelta) this.#deltas += sign
  }
}

/** The content of an append of these slots, with the deltas of one part merged. */
export function appendContent(slots: readonly Slot[]): AppendContent {
  const entries = slots.flatMap(slot => slot.entries)
  // Merging reads only origins and chunks, which new entries have.
  const merged = entries.length === 1 ? entries : coalesce(entries as Entry[])
  return { entries: merged, blobs: slots.flatMap(slot => slot.blobs), slots }
}
