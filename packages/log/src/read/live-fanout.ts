// The live end of a log in this process: one watch, one read and one decoding for all its readers and subscribers. It
// keeps the last few batches. A reader that is further behind reads from the store, so a slow reader costs the others
// nothing (law 8).

import type { Cursor } from '@millrace/protocol'
import type { LogHead, LogStore } from '../store/log-store.ts'
import { retryWhileUnavailable } from '../store/retry.ts'
import type { Timers } from '../store/timers.ts'
import { type Ticket, ticketOf } from '../ticket/ticket.ts'
import { DecodedBatch } from './decoded-batch.ts'
import { livePiece, type ReadBatch } from './read-batch.ts'

/** A log's head with its parsed ticket. */
export interface ParsedHead {
  readonly head: number
  readonly incarnation: string
  readonly ticket: Ticket
  /** The ticket's text from the store. */
  readonly ticketText: string
}

/** A reader at the live end that gets each piece pushed. */
export interface LiveSubscriber {
  /** Takes the next piece. Returns false if it has no room: then it is unsubscribed, and `dropped` is called. */
  deliver(batch: ReadBatch): boolean
  /** No further piece is delivered: the subscriber had no room or threw, or the log changed. It reads on from the last piece that it took. */
  dropped(): void
}

/** Limits of one read by a reader itself. */
export const PAGE = { batches: 2048, bytes: 1024 * 1024 }
/**
 * Limits of one read of the fan-out, and of the older batches that it keeps for readers slightly behind, if there are
 * several.
 */
const READ_LIMIT = { batches: 256, bytes: 256 * 1024 }
const HISTORY_LIMIT = { batches: 64, bytes: 64 * 1024 }
const NO_HISTORY = { batches: 0, bytes: 0 }

/** Parses the head of a page. Reuses the parsed ticket of the page before if its text is the same. */
export const parsedHeadOf = ({ head, incarnation, ticket: text }: LogHead, before?: ParsedHead): ParsedHead => {
  const ticket = text === before?.ticketText ? before.ticket : ticketOf(text)
  return { head, incarnation, ticketText: text, ticket }
}

export class LiveFanout {
  readonly #store: LogStore
  readonly #streamId: string
  readonly #timers: Timers
  readonly #retryTimeoutMs: number
  readonly #onIdle: () => void
  readonly #waiting = new Set<(error?: unknown) => void>()
  /** Each subscriber with the function that leaves for it. */
  readonly #subscribers = new Map<LiveSubscriber, () => void>()
  #readers = 0
  #unwatch: (() => void) | undefined
  #batches: DecodedBatch[] = []
  #length = 0
  /** The cursor just before the first kept batch. */
  #base: { readonly sequence: number; readonly epoch: string } | undefined
  /** The cursor up to which it has read. Undefined until a reader has caught up, and after the log changed under it. */
  #cursor: Cursor | undefined
  #head: ParsedHead | undefined
  /** Counts the wakes of the watch. */
  #wakes = 0
  #isDirty = false
  #isPulling = false

  constructor(store: LogStore, streamId: string, timers: Timers, retryTimeoutMs: number, onIdle: () => void) {
    this.#store = store
    this.#streamId = streamId
    this.#timers = timers
    this.#retryTimeoutMs = retryTimeoutMs
    this.#onIdle = onIdle
  }

  /** Adds a reader. Returns the function that removes it; the last one removed stops the watch. */
  join(): () => void {
    if (this.#readers++ === 0) this.#unwatch = this.#store.watch(this.#streamId, () => this.#wake())
    let hasLeft = false
    return () => {
      if (hasLeft) return
      hasLeft = true
      if (--this.#readers > 0) return
      this.#unwatch?.()
      this.#reset()
      this.#onIdle()
    }
  }

  /**
   * Pushes every piece after the cursor to the subscriber until it has no room. All subscribers get the same object. Returns the function that
   * unsubscribes, or undefined if the batches after the cursor are not kept here.
   */
  subscribe(cursor: Cursor, subscriber: LiveSubscriber): (() => void) | undefined {
    const batches = this.after(cursor)
    if (batches === undefined) return undefined
    this.#subscribers.set(subscriber, this.join())
    if (batches.length > 0) this.#deliver(subscriber, this.#piece(cursor.sequence, batches))
    if (this.#isDirty) void this.#pull()
    return () => this.#unsubscribe(subscriber)
  }

  get hasSubscribers(): boolean {
    return this.#subscribers.size > 0
  }

  #unsubscribe(subscriber: LiveSubscriber): void {
    const leave = this.#subscribers.get(subscriber)
    this.#subscribers.delete(subscriber)
    leave?.()
  }

  /**
   * An error of one subscriber never reaches another reader: it drops that subscriber, which gets the error again
   * when it reads on.
   */
  #deliver(subscriber: LiveSubscriber, batch: ReadBatch): void {
    try {
      if (subscriber.deliver(batch)) return
    } catch {}
    this.#unsubscribe(subscriber)
    subscriber.dropped()
  }

  /** The piece of batches that end at the fan-out's cursor. */
  #piece(after: number, batches: readonly DecodedBatch[]): ReadBatch {
    const cursor = this.#cursor as Cursor
    return livePiece(after, cursor, batches, cursor.sequence >= (this.#head?.head ?? 0))
  }

  /** The number of wakes so far. A reader takes it before it reads, to detect changes after. */
  get wakes(): number {
    return this.#wakes
  }

  /** The head of the log as the fan-out last read it. */
  get head(): ParsedHead | undefined {
    return this.#head
  }

  /** The kept batches after a cursor, or undefined if they are not kept: then the reader reads the store. */
  after(cursor: Cursor): readonly DecodedBatch[] | undefined {
    const end = this.#cursor
    if (end === undefined || end.incarnation !== cursor.incarnation || cursor.sequence > end.sequence) return undefined
    if (cursor.sequence === end.sequence) return cursor.epoch === end.epoch ? [] : undefined
    const batches = this.#batches
    let from = batches.length
    while (from > 0 && (batches[from - 1] as DecodedBatch).last > cursor.sequence) from--
    // The mark at the cursor must be here, to prove that these batches follow the cursor.
    const around = batches[from]
    if (around === undefined) return undefined
    const before = batches[from - 1]
    const epoch =
      around.first <= cursor.sequence ? around.mark : before ? before.mark : this.#epochOfBase(cursor.sequence)
    return epoch === cursor.epoch ? batches.slice(from) : undefined
  }

  #epochOfBase(sequence: number): string | undefined {
    return this.#base?.sequence === sequence ? this.#base.epoch : undefined
  }

  /**
   * A reader has caught up at this cursor, having started its read at the wake count `since`. From here on the
   * fan-out reads for it.
   */
  follow(cursor: Cursor, head: ParsedHead, since: number): void {
    if (this.#cursor !== undefined && this.#cursor.incarnation === cursor.incarnation) {
      if (this.#cursor.sequence < cursor.sequence) this.#markDirty()
      return
    }
    this.#reset()
    this.#cursor = this.#base = cursor
    this.#head = head
    if (since !== this.#wakes) this.#isDirty = true
  }

  /**
   * Calls back once when the log may have changed since the wake count `since`, with an error if the log cannot be
   * reached.
   */
  onChange(since: number, call: (error?: unknown) => void): () => void {
    if (since !== this.#wakes) {
      // It changed while the reader was reading. The callbacks of that wake have already run.
      queueMicrotask(call)
      return () => {}
    }
    this.#waiting.add(call)
    if (this.#isDirty) void this.#pull()
    return () => this.#waiting.delete(call)
  }

  #wake(): void {
    this.#wakes++
    this.#markDirty()
  }

  #markDirty(): void {
    this.#isDirty = true
    if (this.#isAwaited) void this.#pull()
  }

  /** Whether a reader or subscriber waits for entries. */
  get #isAwaited(): boolean {
    return this.#waiting.size > 0 || this.#subscribers.size > 0
  }

  async #pull(): Promise<void> {
    if (this.#isPulling) return
    this.#isPulling = true
    try {
      while (this.#isDirty && this.#isAwaited) {
        this.#isDirty = false
        await this.#read()
        this.#notify()
      }
    } catch (error) {
      this.#isDirty = true
      this.#reset()
      this.#notify(error)
    } finally {
      this.#isPulling = false
    }
  }

  async #read(): Promise<void> {
    const cursor = this.#cursor
    // No reader has caught up yet: each reads the store itself.
    if (cursor === undefined) return
    const page = await retryWhileUnavailable(this.#timers, this.#retryTimeoutMs, () =>
      this.#store.read(this.#streamId, cursor, READ_LIMIT),
    )
    if (this.#cursor !== cursor) return
    if (page === undefined || page.truncated !== null) {
      // Each reader finds out itself what this means for its cursor.
      this.#reset()
      return
    }
    this.#head = parsedHeadOf(page, this.#head)
    this.#dropOldBatches()
    const added = page.batches.map(batch => new DecodedBatch(batch))
    for (const batch of added) {
      this.#batches.push(batch)
      this.#length += batch.length
      this.#cursor = { sequence: batch.last, incarnation: page.incarnation, epoch: batch.mark }
    }
    if (this.#cursor.sequence < page.head) this.#isDirty = true
    if (added.length === 0 || this.#subscribers.size === 0) return
    const batch = this.#piece(cursor.sequence, added)
    // In the same task as the move of the cursor: a reader that subscribes later begins after this piece.
    for (const subscriber of this.#subscribers.keys()) this.#deliver(subscriber, batch)
  }

  #dropOldBatches(): void {
    const { batches, bytes } = this.#readers > 1 ? HISTORY_LIMIT : NO_HISTORY
    let drop = 0
    while (this.#batches.length - drop > batches || this.#length > bytes) {
      const { last, mark, length } = this.#batches[drop++] as DecodedBatch
      this.#length -= length
      this.#base = { sequence: last, epoch: mark }
    }
    if (drop > 0) this.#batches.splice(0, drop)
  }

  #notify(error?: unknown): void {
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const call of waiting) call(error)
  }

  #reset(): void {
    this.#batches = []
    this.#length = 0
    this.#cursor = this.#base = this.#head = undefined
    for (const subscriber of [...this.#subscribers.keys()]) {
      this.#unsubscribe(subscriber)
      subscriber.dropped()
    }
  }
}
