// What a writer was asked for and has not done yet, in order. Words wait here for their company; a batch stays whole; a turn has the log to itself.

import { coalesce, type Entry } from '@millrace/protocol'
import type { NewBlob } from '../store/blobs.ts'
import type { NewEntry } from '../store/entry.ts'
import type { Draft } from './drafts.ts'
import type { Slot } from './slot.ts'

/** Something that comes after all that was asked for before it, and before all that is asked for after it. */
export interface QueueTurn {
  take(): Promise<void>
  fail(error: unknown): void
}

/** What goes out in one append. */
export interface AppendLoad {
  readonly entries: readonly NewEntry[]
  readonly blobs: readonly NewBlob[]
  readonly slots: readonly Slot[]
}

const isTurn = (item: Slot | QueueTurn): item is QueueTurn => 'take' in item

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

  /** Whether all that waits may wait on for more. */
  get isWaiting(): boolean {
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

  /** Takes as much from the front as fits into one append: a batch that may not join others alone, else slots up to the next turn. */
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

  /** Takes the words of a draft away; tells them. */
  drop(draft: Draft): void {
    const items: (Slot | QueueTurn)[] = []
    for (const item of this.#items) {
      if (isTurn(item) || item.isBatch || item.draft !== draft) items.push(item)
      else {
        this.#count(item, -1)
        item.flight.resolve({ outcome: 'dropped' })
      }
    }
    this.#items = items
  }

  /** Tells everybody who waits that it went wrong. */
  fail(error: unknown): void {
    const items = this.#items
    this.#items = []
    this.#bytes = this.#deltas = 0
    for (const item of items) {
      if (isTurn(item)) item.fail(error)
      else item.flight.reject(error)
    }
  }

  #count(slot: Slot, sign: 1 | -1): void {
    this.#bytes += sign * slot.bytes
    if (slot.isDelta) this.#deltas += sign
  }
}

/** What some slots say, the deltas of one part merged. */
export function loadOf(slots: readonly Slot[]): AppendLoad {
  const entries = slots.flatMap(slot => slot.entries)
  // Merging looks at origins and chunks alone, and an entry without a place has both.
  const merged = entries.length === 1 ? entries : coalesce(entries as Entry[])
  return { entries: merged, blobs: slots.flatMap(slot => slot.blobs), slots }
}
