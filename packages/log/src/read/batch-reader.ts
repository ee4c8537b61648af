// Readers: each has a place of its own and asks for what follows it; nothing is queued for anybody.

import { type Cursor, coalesce, type Entry, encodeCursor, isData, type UnprovenCursor } from '@millrace/protocol'
import { decodeBatch } from '../store/entry.ts'
import { LogError, StreamTruncatedError, TruncatedError } from '../store/log-error.ts'
import type { LogStore } from '../store/log-store.ts'
import { readHead } from '../store/read-head.ts'
import { retryWhileUnavailable } from '../store/retry.ts'
import type { Timers } from '../store/timers.ts'
import { type StreamStatus, statusOf } from '../ticket/ticket.ts'
import { Cancellation } from './cancellation.ts'
import { DecodedBatch } from './decoded-batch.ts'
import { isPlain } from './entries-json.ts'
import { type KnownLog, knownLogOf, type LiveFanout, type LiveSubscriber, PAGE } from './live-fanout.ts'
import { type ReadBatch, wholePiece } from './read-batch.ts'
import { Retractions } from './retractions.ts'

export interface ReaderOptions {
  /** Reads what lies after this place: a cursor, or a sequence without proof. */
  readonly after?: Cursor | UnprovenCursor
  /** Only the entries of one run; the reader ends with it. */
  readonly runId?: string
  /** Goes on when the latest run has ended, with the next. */
  readonly follow?: boolean
  /** Every entry as the log has it, also what was taken back by a discard or rewind before the reader came: for folds. */
  readonly whole?: boolean
  /** Also what a rewind took back before the reader came, the rewind, and discards without their words: for folds that go on, since runs, requests and usage only go forward (law 3). */
  readonly rewound?: boolean
  /** Internal entries too; they must not leave the server (law 10). */
  readonly internal?: boolean
  /** Merges deltas while catching up. */
  readonly merge?: boolean
  /** What a reader gets that had read what is taken back: the discard or rewind itself, or a `StreamTruncatedError`. */
  readonly onCut?: 'entry' | 'throw'
  /** How much of the log is read at once while catching up, about, in bytes. */
  readonly pageBytes?: number
  readonly signal?: AbortSignal
}

/** What a reader needs of its manager. */
export interface ReaderSource {
  readonly store: LogStore
  readonly timers: Timers
  readonly patienceMs: number
  readonly streamId: string
  /** The tail of the log, for who joins it. */
  readonly tail: () => LiveFanout
  /** Whether a run had ended at a place, as far as the log can tell. */
  readonly hasEnded: (runId: string, at: number) => Promise<boolean>
  /** Where a run was asked for, if it was. */
  readonly requestOf: (runId: string) => Promise<{ readonly last: number } | undefined>
}

/** Reads a log batch by batch, from a place on. One `next` at a time. */
export class BatchReader {
  readonly #source: ReaderSource
  readonly #options: ReaderOptions
  readonly #from: number
  readonly #cancellation = new Cancellation()
  #place: Cursor | UnprovenCursor
  #tail: LiveFanout | undefined
  #leave: (() => void) | undefined
  #known: KnownLog | undefined
  /** The head when this reader came: what lies up to there is caught up on. */
  #attachedAt: number | undefined
  #survival: Retractions | undefined
  /** What the latest piece was taken from, and how far somebody has asked for places in it. */
  #batches: readonly DecodedBatch[] = []
  #batch = 0
  /** Nothing follows what was given. */
  #isOver = false
  #isClosed = false

  constructor(source: ReaderSource, options: ReaderOptions) {
    this.#source = source
    this.#options = options
    this.#place = options.after ?? { sequence: 0 }
    this.#from = this.#place.sequence
  }

  /** The log's status, as far as this reader knows. */
  get status(): StreamStatus {
    return this.#known ? statusOf(this.#known.ticket) : 'active'
  }

  /** Whether all of the log, as last known, was read. */
  get isCaughtUp(): boolean {
    return this.#known !== undefined && this.#place.sequence >= this.#known.head
  }

  /** The place up to which all was read, once it is proven. */
  get place(): Cursor | undefined {
    return this.#place.incarnation === undefined ? undefined : this.#place
  }

  /** Whether its signal was aborted: nothing more is to be given. */
  get isAborted(): boolean {
    return this.#options.signal?.aborted ?? false
  }

  /** Whether an entry of a piece may stand for several. */
  get isMerging(): boolean {
    return this.#options.merge ?? false
  }

  /** The place at an entry of the latest piece; asked for in order. */
  placeAt(sequence: number): Cursor {
    while ((this.#batches[this.#batch] as DecodedBatch).last < sequence) this.#batch++
    const { mark } = this.#batches[this.#batch] as DecodedBatch
    return { sequence, incarnation: this.#place.incarnation as string, epoch: mark }
  }

  /** Learns how the log is before anything is read; whether there is one. */
  async look(): Promise<boolean> {
    const { store, streamId } = this.#source
    this.#listen()
    try {
      const page = await this.#ask(() => readHead(store, streamId))
      this.#known = page && knownLogOf(page)
      return page !== undefined
    } catch (error) {
      // Who reads is told.
      if (this.isAborted) return true
      throw error
    } finally {
      this.#unlisten()
    }
  }

  /** The next piece if there is one now; undefined where all was read, and the place is proven then. Throws as `next` does. */
  async now(): Promise<ReadBatch | undefined> {
    try {
      if (!this.#isClosed) this.#options.signal?.throwIfAborted()
      if (this.#isOver) return undefined
      this.#cancellation.throwIfCancelled()
      const tail = this.#join()
      return await this.#read(tail, tail.wakes)
    } catch (error) {
      this.close()
      if (error !== CLOSED) throw error
      return undefined
    }
  }

  /** The next piece; undefined at the end. Throws where the place cannot be proven, the log is out of reach, or the signal is aborted. */
  async next(): Promise<ReadBatch | undefined> {
    try {
      if (!this.#isClosed) this.#options.signal?.throwIfAborted()
      while (!this.#isOver) {
        this.#cancellation.throwIfCancelled()
        const tail = this.#join()
        const since = tail.wakes
        const piece = await this.#read(tail, since)
        if (piece) return piece
        if (this.#isOver || this.#isAtEnd()) break
        await this.#change(tail, since)
      }
    } catch (error) {
      this.close()
      if (error !== CLOSED) throw error
    }
    this.close()
    return undefined
  }

  /**
   * Pushes all later pieces to the subscriber, which replaces this reader: the reader is closed. Returns the function that unsubscribes.
   * Returns undefined, and leaves the reader open, if it is not at the live end or has options that select other entries than subscribers get.
   */
  subscribe(subscriber: LiveSubscriber): (() => void) | undefined {
    const { runId, internal, follow, onCut } = this.#options
    const { place } = this
    const isLive = this.#tail !== undefined && place !== undefined && this.isCaughtUp && this.#survival === undefined
    if (!isLive || this.#isOver || runId !== undefined || internal || !follow || onCut === 'throw') return undefined
    const unsubscribe = this.#tail?.subscribe(place, subscriber)
    if (unsubscribe) this.close()
    return unsubscribe
  }

  /** Leaves; a `next` that waits ends. */
  close(): void {
    this.#isOver = true
    this.#isClosed = true
    this.#unlisten()
    this.#cancellation.cancel(CLOSED)
    this.#leave?.()
  }

  /** A reader that nobody reads from holds nothing. */
  #join(): LiveFanout {
    if (this.#tail === undefined) {
      this.#tail = this.#source.tail()
      this.#leave = this.#tail.join()
      this.#listen()
    }
    return this.#tail
  }

  #listen(): void {
    this.#options.signal?.addEventListener('abort', this.#abort, { once: true })
    if (this.isAborted) this.#abort()
  }

  #unlisten(): void {
    this.#options.signal?.removeEventListener('abort', this.#abort)
  }

  readonly #abort = (): void => this.#cancellation.cancel(this.#options.signal?.reason)

  /** What lies after this reader's place, from the tail or from the store; undefined if nothing does. */
  async #read(tail: LiveFanout, since: number): Promise<ReadBatch | undefined> {
    const place = this.#place
    const near = place.incarnation === undefined || this.#attachedAt === undefined ? undefined : tail.after(place)
    if (near !== undefined) {
      this.#known = tail.known ?? this.#known
      return this.#take(near, place.incarnation as string)
    }
    const { store, streamId } = this.#source
    const { pageBytes = PAGE.bytes } = this.#options
    const page = await this.#ask(() => store.read(streamId, place, { ...PAGE, bytes: pageBytes }))
    if (page === undefined) {
      // A log that nobody has made yet has nothing to read; one that had something is gone.
      if (place.incarnation === undefined && place.sequence === 0) return undefined
      throw new TruncatedError('incarnation', `the log ${streamId} is not there`, 0, 0)
    }
    const { truncated, head, floor, incarnation } = page
    if (truncated !== null)
      throw new TruncatedError(truncated, `the log ${streamId} does not hold that place`, head, floor)
    this.#known = knownLogOf(page)
    const batches = page.batches.map(batch => new DecodedBatch(batch))
    if (this.#attachedAt === undefined) {
      this.#attachedAt = head
      await this.#survey(page.floor, batches)
      if (this.#isOver) return undefined
    }
    const piece = this.#take(batches, incarnation)
    const here = this.#place
    if (here.sequence === head) {
      if (here.incarnation === undefined) this.#place = { sequence: head, incarnation, epoch: page.mark }
      tail.follow(this.#place as Cursor, this.#known, since)
    }
    return piece
  }

  #take(batches: readonly DecodedBatch[], incarnation: string): ReadBatch | undefined {
    const last = batches.at(-1)
    if (last === undefined) return undefined
    const after = this.#place.sequence
    this.#batches = batches
    this.#batch = 0
    if (this.#seesAll(batches)) return this.#whole(after, last, incarnation, batches)
    const taken: Entry[] = []
    for (const batch of batches) {
      for (const entry of batch.entries) {
        if (entry.sequence <= after) continue
        this.#admit(entry, taken)
        if (this.#isOver) return this.#piece(after, { last: entry.sequence, mark: batch.mark }, incarnation, taken)
      }
    }
    return this.#piece(after, last, incarnation, taken)
  }

  /** Whether this reader is to see all of some batches: then nobody need look into them here. */
  #seesAll(batches: readonly DecodedBatch[]): boolean {
    if (this.#options.runId !== undefined || this.#survival) return false
    if ((batches[0] as DecodedBatch).first <= this.#place.sequence) return false
    return batches.every(batch => isPlain(batch.stored))
  }

  /** A piece of all that some batches hold. */
  #whole(after: number, last: DecodedBatch, incarnation: string, batches: readonly DecodedBatch[]): ReadBatch {
    const merges = this.#merges(last.last)
    const cursor = this.#move(last, incarnation)
    return wholePiece({ after, sequence: last.last, cursor, isCaughtUp: this.isCaughtUp }, batches, merges)
  }

  #piece(after: number, at: Pick<DecodedBatch, 'last' | 'mark'>, incarnation: string, entries: Entry[]): ReadBatch {
    const merged = this.#merges(at.last) ? coalesce(entries) : entries
    const cursor = this.#move(at, incarnation)
    return { after, sequence: at.last, cursor, entries: merged, isCaughtUp: this.isCaughtUp }
  }

  /** Whether what reaches up to there is merged: who has caught up gets every entry. */
  #merges(last: number): boolean {
    return this.isMerging && last <= (this.#attachedAt as number)
  }

  /** Goes on to a place; tells it as a token. */
  #move({ last, mark }: Pick<DecodedBatch, 'last' | 'mark'>, incarnation: string): string {
    const place = { sequence: last, incarnation, epoch: mark }
    this.#place = place
    // From here on every discard and rewind is for this reader, and what they took back before need not be known.
    if (this.#options.onCut !== 'throw' && last >= (this.#attachedAt as number)) this.#survival = undefined
    return encodeCursor(place)
  }

  /** Decides whether this reader is to see an entry. */
  #admit(entry: Entry, taken: Entry[]): void {
    const { runId } = this.#options
    const { sequence, chunk, origin } = entry
    const isPast = sequence <= (this.#attachedAt as number)
    if (runId !== undefined && origin.runId === runId && chunk.type === 'run-finished') this.#isOver = true
    if (this.#survival && !this.#survives(this.#survival, entry, isPast, taken)) return
    if (this.#isFor(entry)) taken.push(entry)
  }

  /** Whether an entry is for this reader, whatever became of it. */
  readonly #isFor = ({ sequence, origin, chunk, internal }: Entry): boolean => {
    const { runId } = this.#options
    if (internal && !this.#options.internal) return false
    if (runId !== undefined && origin.runId !== runId) return false
    const isPast = sequence <= (this.#attachedAt as number)
    return !(isPast && this.#from === 0 && isData(chunk) && chunk.transient)
  }

  /** Whether an entry was left by all discards and rewinds that concern this reader. */
  #survives(survival: Retractions, entry: Entry, isPast: boolean, taken: Entry[]): boolean {
    if (!isPast) survival.add(entry)
    const cut = survival.retractionAt(entry.sequence)
    if (cut === undefined || cut.from === cut.at) return !isPast || !survival.isRetracted(entry)
    const throws = this.#options.onCut === 'throw'
    // What it had read: what lay before it when it came, or what it was given since.
    const read = isPast ? this.#from : this.#place.sequence
    if (throws && cut.seen !== undefined && cut.seen <= read) throw new StreamTruncatedError(cut.step, cut.at)
    if (!throws && (!isPast || cut.from <= read)) return true
    // It was given nothing of it yet, and is not now.
    const left = taken.filter(other => other.sequence < cut.from || !survival.isRetracted(other))
    taken.splice(0, taken.length, ...left)
    // The words are gone, and yet they were used: who folds is told how much.
    return this.#options.rewound === true
  }

  /**
   * Looks at the log, whose next batches are at hand, where something of what follows was taken back or may be taken from this reader, or where
   * its run may have ended before its place. What lies up to its place it was given: only who wants to be told off needs to know what that was.
   */
  async #survey(floor: number, next: readonly DecodedBatch[]): Promise<void> {
    const { whole, rewound, runId } = this.#options
    const { cuts, run } = (this.#known as KnownLog).ticket
    const from = this.#from
    const end = this.#attachedAt as number
    const throws = this.#options.onCut === 'throw' && !whole
    const isCut = throws || (!whole && cuts > 0 && from < end)
    const survival = isCut
      ? new Retractions(this.#isFor, { keepsRewound: rewound, since: throws ? 0 : from })
      : undefined
    const mayBeOver = runId !== undefined && run?.runId !== runId && from >= floor
    if (survival === undefined && !mayBeOver) return
    // Nothing of a run lies before the request for it. Which step a cut goes back to may: who wants to be told that reads it all.
    const isOfRun = runId !== undefined && !throws
    const asked = (isOfRun && (await this.#ask(() => this.#source.requestOf(runId)))?.last) || 0
    const mayHaveEnded = mayBeOver && floor > asked
    if (mayHaveEnded && (await this.#ask(() => this.#source.hasEnded(runId, floor)))) this.#isOver = true
    if (mayBeOver || throws) {
      await this.#each(Math.max(floor, asked), from, floor, entry => {
        if (throws) survival?.add(entry)
        if (entry.chunk.type === 'run-finished' && entry.origin.runId === runId) this.#isOver = true
      })
    }
    if (survival === undefined || this.#isOver) return
    for (const { entries } of next) for (const entry of entries) if (entry.sequence > from) survival.add(entry)
    // Where there is more, one page at least is read: it proves that the request was this log's.
    const rest = Math.max(next.at(-1)?.last ?? from, Math.min(asked, end - 1))
    await this.#each(rest, end, floor, entry => survival.add(entry))
    // What is left of a run that began before this place, and was cut since, hangs on where that was.
    const low = Math.max(floor, asked, survival.low)
    if (!throws) await this.#each(low, from, floor, entry => survival.began(entry))
    this.#survival = survival
  }

  /** Goes through what lies after one place, up to another, until this reader is over. */
  async #each(start: number, end: number, floor: number, take: (entry: Entry) => void): Promise<void> {
    const { store, streamId } = this.#source
    const { incarnation } = this.#known as KnownLog
    for (let at = start; at < end && !this.#isOver; ) {
      const page = await this.#ask(() => store.read(streamId, { sequence: at }, PAGE))
      if (page?.incarnation !== incarnation)
        throw new TruncatedError('incarnation', `the log ${streamId} is another`, page?.head ?? 0, page?.floor ?? 0)
      // What this reader is about to be shown is trimmed, and with it what would tell which of it was taken back.
      if (page.floor > Math.max(floor, this.#from)) {
        throw new TruncatedError('below-floor', `the log ${streamId} was trimmed`, page.head, page.floor)
      }
      for (const batch of page.batches) {
        for (const entry of decodeBatch(batch)) if (entry.sequence > at && entry.sequence <= end) take(entry)
      }
      // What was trimmed meanwhile is not shown to anybody any more.
      at = page.batches.at(-1)?.last ?? page.floor
    }
  }

  #isAtEnd(): boolean {
    const { follow, runId } = this.#options
    if (follow || !this.isCaughtUp) return false
    const { run, last } = (this.#known as KnownLog).ticket
    if (runId !== undefined) return run?.runId !== runId && last?.runId === runId
    return run === null && last !== null
  }

  /** Asks the store until it answers, or the reader leaves. */
  #ask<T>(ask: () => Promise<T>): Promise<T> {
    const { timers, patienceMs } = this.#source
    return new Promise((resolve, reject) => {
      this.#cancellation.throwIfCancelled()
      const done = this.#cancellation.onCancel(reject)
      retryWhileUnavailable(timers, patienceMs, ask).then(resolve, reject).finally(done)
    })
  }

  /** Waits until there may be more than when so much had happened. */
  #change(tail: LiveFanout, since: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const done = (error?: unknown) => {
        cancel()
        stay()
        if (error === undefined || error === CLOSED) resolve()
        else reject(error)
      }
      const cancel = tail.onChange(since, done)
      const stay = this.#cancellation.onCancel(done)
    })
  }
}

const CLOSED = new LogError('closed', 'the reader was closed')
