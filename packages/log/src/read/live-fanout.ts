// The live end of a log in this process: one watch, one read and one decoding for all its readers and subscribers. The
// batches of a writer in this process come from the writer, without a read. It keeps the last few batches. A reader
// that is further behind reads from the store, so a slow reader costs the others nothing (law 8).

import type { Cursor } from '@millrace/protocol'
import type { AppendListener, OwnAppend } from '../store/append-listener.ts'
import { DecodedBatch } from '../store/decoded-batch.ts'
import type { LogHead, LogStore } from '../store/log-store.ts'
import { retryWhileUnavailable } from '../store/retry.ts'
import type { Timers } from '../store/timers.ts'
import { type Ticket, ticketOf } from '../ticket/ticket.ts'
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

export class LiveFanout implements AppendListener {
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
  /** Counts the changes of the log that this process learned of. */
  #wakes = 0
  /** The log may have entries up to this sequence that were not read: infinite for an unknown one. */
  #unreadTo = 0
  #isPulling = false
  /** Appends of writers in this process that are not settled. */
  #sending = 0

  constructor(store: LogStore, streamId: string, timers: Timers, retryTimeoutMs: number, onIdle: () => void) {
    this.#store = store
    this.#streamId = streamId
    this.#timers = timers
    this.#retryTimeoutMs = retryTimeoutMs
    this.#onIdle = onIdle
  }

  /** Adds a reader. Returns the function that removes it; the last one removed stops the watch. */
  join(): () => void {
    if (this.#readers++ === 0) this.#unwatch = this.#store.watch(this.#streamId, head => this.#wake(head))
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
    this.#pullIfBehind()
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

  /** The number of known changes so far. A reader takes it before it reads, to detect changes after. */
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
    if (since !== this.#wakes) this.#unreadTo = Number.POSITIVE_INFINITY
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
    this.#pullIfBehind()
    return () => this.#waiting.delete(call)
  }

  sending(): void {
    this.#sending++
  }

  /** Takes the batch of a writer in this process, if it follows the last one here and a reader waits for it. */
  settled(append: OwnAppend | undefined): void {
    this.#sending--
    if (append?.batch && this.#isAwaited && this.#isAt(append.after)) {
      const { batch, cursor, ticketText: text } = append
      const head = this.#head as ParsedHead
      const ticket = text === undefined ? {} : { ticketText: text, ticket: ticketOf(text) }
      this.#head = { ...head, head: Math.max(head.head, batch.last), ...ticket }
      this.#wakes++
      this.#dropOldBatches()
      this.#add([batch], cursor)
      if (this.#unreadTo <= cursor.sequence) this.#unreadTo = 0
      this.#notify()
    }
    this.#pullIfBehind()
  }

  #isAt({ sequence, incarnation, epoch }: Cursor): boolean {
    const cursor = this.#cursor
    return cursor?.sequence === sequence && cursor.epoch === epoch && cursor.incarnation === incarnation
  }

  /** A wake-up that names a head which was read already, such as that of an own append, tells nothing new. */
  #wake(head = Number.POSITIVE_INFINITY): void {
    if (this.#cursor !== undefined && head <= this.#cursor.sequence) return
    this.#wakes++
    // Until a reader has caught up, there is nothing to compare a head with.
    this.#markDirty(this.#cursor === undefined ? Number.POSITIVE_INFINITY : head)
  }

  #markDirty(to = Number.POSITIVE_INFINITY): void {
    this.#unreadTo = Math.max(this.#unreadTo, to)
    this.#pullIfBehind()
  }

  /** Reads what is not read yet, if a reader waits for it. A wake-up during an own append may be that append's. */
  #pullIfBehind(): void {
    if (this.#mustPull) void this.#pull()
  }

  get #mustPull(): boolean {
    return this.#unreadTo > 0 && this.#isAwaited && this.#sending === 0
  }

  /** Whether a reader or subscriber waits for entries. */
  get #isAwaited(): boolean {
    return this.#waiting.size > 0 || this.#subscribers.size > 0
  }

  async #pull(): Promise<void> {
    if (this.#isPulling) return
    this.#isPulling = true
    try {
      while (this.#mustPull) {
        this.#unreadTo = 0
        await this.#read()
        this.#notify()
      }
    } catch (error) {
      this.#unreadTo = Number.POSITIVE_INFINITY
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
    // The log changed under it, or a writer's batch came first: entries after that batch woke during this read.
    if (this.#cursor !== cursor) return
    if (page === undefined || page.truncated !== null) {
      // Each reader finds out itself what this means for its cursor.
      this.#reset()
      return
    }
    this.#head = parsedHeadOf(page, this.#head)
    this.#dropOldBatches()
    const last = page.batches.at(-1)
    if (last === undefined) return
    const end = { sequence: last.last, incarnation: page.incarnation, epoch: last.mark }
    if (end.sequence < page.head) this.#unreadTo = Number.POSITIVE_INFINITY
    this.#add(
      page.batches.map(batch => new DecodedBatch(batch)),
      end,
    )
  }

  /** Adds batches that follow the last one and end at a cursor, and delivers them. */
  #add(added: readonly DecodedBatch[], cursor: Cursor): void {
    const after = (this.#cursor as Cursor).sequence
    for (const batch of added) {
      this.#batches.push(batch)
      this.#length += batch.length
    }
    this.#cursor = cursor
    if (this.#subscribers.size === 0) return
    const piece = this.#piece(after, added)
    // In the same task as the move of the cursor: a reader that subscribes later begins after this piece.
    for (const subscriber of this.#subscribers.keys()) this.#deliver(subscriber, piece)
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
