// Readers: each has a place of its own and asks for what follows it; nothing is queued for anybody.

import { type Cursor, coalesce, type Entry, encodeCursor, isData, type UnprovenCursor } from '@millrace/protocol'
import { LogError, StreamTruncatedError, TruncatedError } from '../error.ts'
import type { LogStore } from '../store.ts'
import { type StreamStatus, statusOf } from '../ticket/ticket.ts'
import { patiently } from './appender.ts'
import { Survival } from './survival.ts'
import { decode, type Known, knownOf, PAGE, type Tail, type TailBatch } from './tail.ts'
import type { Timers } from './timers.ts'

export interface ReaderOptions {
  /** Reads what lies after this place: a cursor, or a sequence without proof. */
  readonly after?: Cursor | UnprovenCursor
  /** Only the entries of one run; the reader ends with it. */
  readonly runId?: string
  /** Goes on when the latest run has ended, with the next. */
  readonly follow?: boolean
  /** Every entry as the log has it, also what was taken back by a discard or rewind before the reader came: for folds. */
  readonly whole?: boolean
  /** Internal entries too; they must not leave the server (law 10). */
  readonly internal?: boolean
  /** Merges deltas while catching up. */
  readonly merge?: boolean
  /** What a reader gets that had read what is taken back: the discard or rewind itself, or a `StreamTruncatedError`. */
  readonly onCut?: 'entry' | 'throw'
  readonly signal?: AbortSignal
}

/** A piece of the log, whole: all that the reader is to see of `(after, sequence]`. */
export interface ReadBatch {
  readonly after: number
  readonly sequence: number
  /** The place at `sequence`. */
  readonly cursor: string
  readonly entries: readonly Entry[]
  /** Whether this reaches the head of the log as it was known then. */
  readonly isCaughtUp: boolean
}

/** What a reader needs of its manager. */
export interface ReaderSource {
  readonly store: LogStore
  readonly timers: Timers
  readonly patienceMs: number
  readonly streamId: string
  readonly tail: Tail
}

/** Reads a log batch by batch, from a place on. One `next` at a time. */
export class BatchReader {
  readonly #source: ReaderSource
  readonly #options: ReaderOptions
  readonly #leave: () => void
  readonly #from: number
  readonly #gone = new AbortController()
  #place: Cursor | UnprovenCursor
  #known: Known | undefined
  /** The head when this reader came: what lies up to there is caught up on. */
  #attachedAt: number | undefined
  #survival: Survival | undefined
  #isOver = false

  constructor(source: ReaderSource, options: ReaderOptions) {
    this.#source = source
    this.#options = options
    this.#place = options.after ?? { sequence: 0 }
    this.#from = this.#place.sequence
    this.#leave = source.tail.join()
    options.signal?.addEventListener('abort', this.#abort, { once: true })
    if (options.signal?.aborted) this.#abort()
  }

  /** The log's status, as far as this reader knows. */
  get status(): StreamStatus {
    return this.#known ? statusOf(this.#known.ticket) : 'active'
  }

  /** Whether all of the log, as last known, was read. */
  get isCaughtUp(): boolean {
    return this.#known !== undefined && this.#place.sequence >= this.#known.head
  }

  /** The next piece; undefined at the end. Throws where the place cannot be proven, the log is out of reach, or the signal is aborted. */
  async next(): Promise<ReadBatch | undefined> {
    try {
      while (!this.#isOver) {
        this.#gone.signal.throwIfAborted()
        const piece = await this.#read()
        if (piece) return piece
        if (this.#isOver || this.#isAtEnd()) break
        await this.#change()
      }
    } catch (error) {
      this.close()
      throw error
    }
    this.close()
    return undefined
  }

  /** Leaves; a `next` that waits ends. */
  close(): void {
    this.#isOver = true
    this.#options.signal?.removeEventListener('abort', this.#abort)
    this.#gone.abort(CLOSED)
    this.#leave()
  }

  readonly #abort = (): void => this.#gone.abort(this.#options.signal?.reason)

  /** What lies after this reader's place, from the tail or from the store; undefined if nothing does. */
  async #read(): Promise<ReadBatch | undefined> {
    const { tail } = this.#source
    const place = this.#place
    const near = place.incarnation === undefined || this.#attachedAt === undefined ? undefined : tail.after(place)
    if (near !== undefined) {
      this.#known = tail.known ?? this.#known
      return this.#take(near, place.incarnation as string)
    }
    const { store, streamId } = this.#source
    const page = await this.#ask(() => store.read(streamId, place, PAGE))
    if (page === undefined) {
      // A log that nobody has made yet has nothing to read; one that had something is gone.
      if (place.incarnation === undefined && place.sequence === 0) return undefined
      throw new TruncatedError('incarnation', `the log ${streamId} is not there`, 0, 0)
    }
    const { truncated, head, floor, incarnation } = page
    if (truncated !== null)
      throw new TruncatedError(truncated, `the log ${streamId} does not hold that place`, head, floor)
    this.#known = knownOf(page)
    if (this.#attachedAt === undefined) {
      this.#attachedAt = head
      await this.#survey(page.floor)
    }
    const piece = this.#take(page.batches.map(decode), incarnation)
    const here = this.#place
    if (here.sequence === head) {
      if (here.incarnation === undefined) this.#place = { sequence: head, incarnation, epoch: page.mark }
      tail.follow(this.#place as Cursor, this.#known)
    }
    return piece
  }

  #take(batches: readonly TailBatch[], incarnation: string): ReadBatch | undefined {
    const last = batches.at(-1)
    if (last === undefined) return undefined
    const after = this.#place.sequence
    const taken: Entry[] = []
    for (const batch of batches) {
      for (const entry of batch.entries) {
        if (entry.sequence <= after) continue
        this.#admit(entry, taken)
        if (this.#isOver)
          return this.#piece(after, { ...last, last: entry.sequence, mark: batch.mark }, incarnation, taken)
      }
    }
    return this.#piece(after, last, incarnation, taken)
  }

  #piece(after: number, { last, mark }: TailBatch, incarnation: string, entries: Entry[]): ReadBatch {
    const isCatchingUp = last <= (this.#attachedAt as number)
    const place = { sequence: last, incarnation, epoch: mark }
    this.#place = place
    const merged = this.#options.merge && isCatchingUp ? coalesce(entries) : entries
    return { after, sequence: last, cursor: encodeCursor(place), entries: merged, isCaughtUp: this.isCaughtUp }
  }

  /** Decides whether this reader is to see an entry. */
  #admit(entry: Entry, taken: Entry[]): void {
    const { runId, internal } = this.#options
    const { sequence, chunk, origin } = entry
    const isPast = sequence <= (this.#attachedAt as number)
    if (this.#survival) {
      if (!isPast) this.#survival.add(entry)
      const cut = this.#survival.cutAt(sequence)
      if (cut && cut.from < cut.at) {
        const hadRead = isPast ? cut.from <= this.#from : true
        if (!hadRead) return
        if (this.#options.onCut === 'throw') throw new StreamTruncatedError(cut.step, cut.at)
      } else if (isPast && this.#survival.isTaken(entry)) return
    }
    if (entry.internal && !internal) return
    if (isPast && this.#from === 0 && isData(chunk) && chunk.transient) return
    if (runId !== undefined) {
      if (origin.runId !== runId) return
      if (chunk.type === 'run-finished') this.#isOver = true
    }
    taken.push(entry)
  }

  /** Looks at the whole log, where something in it was taken back or may be taken from this reader. */
  async #survey(floor: number): Promise<void> {
    const { whole, onCut } = this.#options
    const { cuts } = (this.#known as Known).ticket
    if (whole || (onCut !== 'throw' && cuts === 0)) return
    const survival = new Survival()
    const { store, streamId } = this.#source
    const end = this.#attachedAt as number
    for (let at = floor; at < end; ) {
      const page = await this.#ask(() => store.read(streamId, { sequence: at }, PAGE))
      if (page === undefined || page.batches.length === 0) break
      for (const { entries } of page.batches.map(decode)) {
        for (const entry of entries) if (entry.sequence > at && entry.sequence <= end) survival.add(entry)
      }
      at = page.batches.at(-1)?.last as number
    }
    this.#survival = survival
  }

  #isAtEnd(): boolean {
    const { follow, runId } = this.#options
    if (follow || !this.isCaughtUp) return false
    const { run, last } = (this.#known as Known).ticket
    if (runId !== undefined) return run?.runId !== runId && last?.runId === runId
    return run === null && last !== null
  }

  #ask<T>(ask: () => Promise<T>): Promise<T> {
    const { timers, patienceMs } = this.#source
    return patiently(timers, patienceMs, ask)
  }

  /** Waits until there may be more. */
  #change(): Promise<void> {
    const { signal } = this.#gone
    return new Promise((resolve, reject) => {
      const done = (error?: unknown) => {
        cancel()
        signal.removeEventListener('abort', aborted)
        if (error === undefined || error === CLOSED) resolve()
        else reject(error)
      }
      const aborted = () => done(signal.reason)
      const cancel = this.#source.tail.onChange(done)
      signal.addEventListener('abort', aborted, { once: true })
      if (signal.aborted) aborted()
    })
  }
}

const CLOSED = new LogError('closed', 'the reader was closed')

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
