// The live end of a log in this process: one watch, one read and one decoding for all its readers and subscribers. It keeps the last few batches. A
// reader that is further behind reads from the store, so a slow reader costs the others nothing (law 8).

import type { Cursor } from '@millrace/protocol'
import type { LogHead, LogStore } from '../store/log-store.ts'
import { retryWhileUnavailable } from '../store/retry.ts'
import type { Timers } from '../store/timers.ts'
import { type Ticket, ticketOf } from '../ticket/ticket.ts'
import { DecodedBatch } from './decoded-batch.ts'
import { livePiece, type ReadBatch } from './read-batch.ts'

/** What is known of a log at one moment. */
export interface KnownLog {
  readonly head: number
  readonly incarnation: string
  readonly ticket: Ticket
  /** The ticket as the store has it. */
  readonly text: string
}

/** A reader at the live end that gets each piece pushed. */
export interface LiveSubscriber {
  /** Takes the next piece. Returns false if it has no room: then it is unsubscribed and told so by `dropped`. */
  deliver(piece: ReadBatch): boolean
  /** No further piece is delivered: the subscriber had no room or threw, or the log changed. It reads on from the last piece that it took. */
  dropped(): void
}

/** What a reader reads at once for itself. */
export const PAGE = { batches: 2048, bytes: 1024 * 1024 }
/** What a tail reads at once, and keeps until it reads on; and what it keeps of what it read before, where several read, for those a little behind. */
const FRESH = { batches: 256, bytes: 256 * 1024 }
const KEPT = { batches: 64, bytes: 64 * 1024 }
const NOTHING = { batches: 0, bytes: 0 }

/** What a page says of its log; most say the same ticket as the page before. */
export const knownLogOf = ({ head, incarnation, ticket: text }: LogHead, before?: KnownLog): KnownLog => {
  return { head, incarnation, text, ticket: text === before?.text ? before.ticket : ticketOf(text) }
}

export class LiveFanout {
  readonly #store: LogStore
  readonly #streamId: string
  readonly #timers: Timers
  readonly #patienceMs: number
  readonly #onIdle: () => void
  readonly #waiting = new Set<(error?: unknown) => void>()
  /** Each subscriber with the function that leaves for it. */
  readonly #subscribers = new Map<LiveSubscriber, () => void>()
  #readers = 0
  #unwatch: (() => void) | undefined
  #batches: DecodedBatch[] = []
  #length = 0
  /** The place just before the first batch that is kept. */
  #base: { readonly sequence: number; readonly epoch: string } | undefined
  /** Up to where this tail has read; undefined before its first reader is caught up, and after what it had no longer holds. */
  #cursor: Cursor | undefined
  #known: KnownLog | undefined
  /** How often something may have happened to the log. */
  #wakes = 0
  #isDirty = false
  #isPulling = false

  constructor(store: LogStore, streamId: string, timers: Timers, patienceMs: number, onIdle: () => void) {
    this.#store = store
    this.#streamId = streamId
    this.#timers = timers
    this.#patienceMs = patienceMs
    this.#onIdle = onIdle
  }

  /** Counts a reader in; the last one that leaves takes the watch along. */
  join(): () => void {
    if (this.#readers++ === 0) this.#unwatch = this.#store.watch(this.#streamId, () => this.#wake())
    let hasLeft = false
    return () => {
      if (hasLeft) return
      hasLeft = true
      if (--this.#readers > 0) return
      this.#unwatch?.()
      this.#forget()
      this.#onIdle()
    }
  }

  /**
   * Pushes every piece after the cursor to the subscriber until it has no room. All subscribers get the same object. Returns the function that
   * unsubscribes, or undefined if the batches after the cursor are not kept here.
   */
  subscribe(cursor: Cursor, subscriber: LiveSubscriber): (() => void) | undefined {
    const missed = this.after(cursor)
    if (missed === undefined) return undefined
    this.#subscribers.set(subscriber, this.join())
    if (missed.length > 0) this.#deliver(subscriber, this.#piece(cursor.sequence, missed))
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

  /** An error of one subscriber never reaches another reader: it drops that subscriber, which meets the error again when it reads on. */
  #deliver(subscriber: LiveSubscriber, piece: ReadBatch): void {
    try {
      if (subscriber.deliver(piece)) return
    } catch {}
    this.#unsubscribe(subscriber)
    subscriber.dropped()
  }

  /** The piece of batches that end at the fan-out's cursor. */
  #piece(after: number, batches: readonly DecodedBatch[]): ReadBatch {
    const cursor = this.#cursor as Cursor
    return livePiece(after, cursor, batches, cursor.sequence >= (this.#known?.head ?? 0))
  }

  /** What may have happened to the log so far: who looks at it remembers this from before. */
  get wakes(): number {
    return this.#wakes
  }

  /** The log as this tail last read it. */
  get known(): KnownLog | undefined {
    return this.#known
  }

  /** The batches after a place, if they are here; undefined if not, and then a reader reads for itself. */
  after(cursor: Cursor): readonly DecodedBatch[] | undefined {
    const own = this.#cursor
    if (own === undefined || own.incarnation !== cursor.incarnation || cursor.sequence > own.sequence) return undefined
    if (cursor.sequence === own.sequence) return cursor.epoch === own.epoch ? [] : undefined
    const batches = this.#batches
    let from = batches.length
    while (from > 0 && (batches[from - 1] as DecodedBatch).last > cursor.sequence) from--
    // The place itself must be known here, to prove that what follows it here follows it there.
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

  /** A reader is caught up here, as it found when so much had happened: from here on this tail reads for it. */
  follow(cursor: Cursor, known: KnownLog, since: number): void {
    if (this.#cursor !== undefined && this.#cursor.incarnation === cursor.incarnation) {
      if (this.#cursor.sequence < cursor.sequence) this.#fallBehind()
      return
    }
    this.#forget()
    this.#cursor = this.#base = cursor
    this.#known = known
    if (since !== this.#wakes) this.#isDirty = true
  }

  /** Calls back once when there may be more than when so much had happened; an error if the log cannot be reached. */
  onChange(since: number, call: (error?: unknown) => void): () => void {
    if (since !== this.#wakes) {
      // It happened while the reader looked elsewhere, and who waited then was told.
      queueMicrotask(call)
      return () => {}
    }
    this.#waiting.add(call)
    if (this.#isDirty) void this.#pull()
    return () => this.#waiting.delete(call)
  }

  #wake(): void {
    this.#wakes++
    this.#fallBehind()
  }

  #fallBehind(): void {
    this.#isDirty = true
    if (this.#isAwaited) void this.#pull()
  }

  /** Whether a reader or subscriber waits for what comes. */
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
        this.#tell()
      }
    } catch (error) {
      this.#isDirty = true
      this.#forget()
      this.#tell(error)
    } finally {
      this.#isPulling = false
    }
  }

  async #read(): Promise<void> {
    const cursor = this.#cursor
    // Nobody has been caught up yet: each reader looks for itself.
    if (cursor === undefined) return
    const page = await retryWhileUnavailable(this.#timers, this.#patienceMs, () =>
      this.#store.read(this.#streamId, cursor, FRESH),
    )
    if (this.#cursor !== cursor) return
    if (page === undefined || page.truncated !== null) {
      // Each reader finds out for itself what that means for its own place.
      this.#forget()
      return
    }
    this.#known = knownLogOf(page, this.#known)
    this.#shorten()
    const fresh = page.batches.map(batch => new DecodedBatch(batch))
    for (const batch of fresh) {
      this.#batches.push(batch)
      this.#length += batch.length
      this.#cursor = { sequence: batch.last, incarnation: page.incarnation, epoch: batch.mark }
    }
    if (this.#cursor.sequence < page.head) this.#isDirty = true
    if (fresh.length === 0 || this.#subscribers.size === 0) return
    const piece = this.#piece(cursor.sequence, fresh)
    // In the same task as the move: a reader that subscribes later begins after this piece.
    for (const subscriber of this.#subscribers.keys()) this.#deliver(subscriber, piece)
  }

  #shorten(): void {
    const { batches, bytes } = this.#readers > 1 ? KEPT : NOTHING
    let drop = 0
    while (this.#batches.length - drop > batches || this.#length > bytes) {
      const { last, mark, length } = this.#batches[drop++] as DecodedBatch
      this.#length -= length
      this.#base = { sequence: last, epoch: mark }
    }
    if (drop > 0) this.#batches.splice(0, drop)
  }

  #tell(error?: unknown): void {
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const call of waiting) call(error)
  }

  #forget(): void {
    this.#batches = []
    this.#length = 0
    this.#cursor = this.#base = this.#known = undefined
    for (const subscriber of [...this.#subscribers.keys()]) {
      this.#unsubscribe(subscriber)
      subscriber.dropped()
    }
  }
}
