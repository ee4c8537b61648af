// Readers. Each has its own cursor and pulls the entries after it; nothing is queued for a reader.

import { type Cursor, coalesce, type Entry, encodeCursor, isData, type UnprovenCursor } from '@millrace/protocol'
import { DecodedBatch } from '../store/decoded-batch.ts'
import { decodeBatch } from '../store/entry.ts'
import { LogError, StreamTruncatedError, TruncatedError } from '../store/log-error.ts'
import type { LogStore } from '../store/log-store.ts'
import { readHead } from '../store/read-head.ts'
import { retryWhileUnavailable } from '../store/retry.ts'
import type { Timers } from '../store/timers.ts'
import { type StreamStatus, statusOf } from '../ticket/ticket.ts'
import { Cancellation } from './cancellation.ts'
import { isPlain } from './entries-json.ts'
import { type LiveFanout, type LiveSubscriber, PAGE, type ParsedHead, parsedHeadOf } from './live-fanout.ts'
import { type ReadBatch, unfilteredPiece } from './read-batch.ts'
import { Retractions } from './retractions.ts'

/** Options of a reader. */
export interface ReaderOptions {
  /**
   * Reads the entries after this cursor, or after a sequence, which is not verified.
   *
   * @default the beginning of the log
   */
  readonly after?: Cursor | UnprovenCursor
  /** Reads only the entries of one run, and ends with it. @default all runs */
  readonly runId?: string
  /**
   * Continues with the next run when the latest has ended.
   *
   * @default false
   */
  readonly follow?: boolean
  /**
   * Includes entries that were discarded or rewound before the reader started, for folds.
   *
   * @default false
   */
  readonly includeDiscarded?: boolean
  /**
   * Includes entries that were rewound before the reader started, the rewinds, and discards without their drafts: for
   * folds that continue, since runs, requests and usage only move forward (law 3).
   *
   * @default false
   */
  readonly rewound?: boolean
  /**
   * Includes internal entries, which must not leave the server (law 10).
   *
   * @default false
   */
  readonly internal?: boolean
  /**
   * Merges adjacent deltas while catching up.
   *
   * @default false
   */
  readonly merge?: boolean
  /**
   * Reaction to a retraction of entries that the reader has read. `entry`: the reader gets the discard or rewind.
   * `throw`: the reader throws a `StreamTruncatedError`.
   *
   * @default 'entry'
   */
  readonly onRetraction?: 'entry' | 'throw'
  /**
   * Approximate size of one read while catching up, in bytes.
   *
   * @default 1048576
   */
  readonly pageBytes?: number
  /** Aborts the reader, which throws the signal's reason. @default none */
  readonly signal?: AbortSignal
}

/** The parts of the manager that a reader uses. */
export interface ReaderSource {
  readonly store: LogStore
  readonly timers: Timers
  readonly retryTimeoutMs: number
  readonly streamId: string
  /** The log's fan-out, which readers join. */
  readonly fanout: () => LiveFanout
  /** Whether a run had ended at a sequence, as far as the log can tell. */
  readonly hasEnded: (runId: string, at: number) => Promise<boolean>
  /** The sequence of a run's request, if there is one. */
  readonly requestOf: (runId: string) => Promise<{ readonly last: number } | undefined>
}

/** Reads a log batch by batch. One `next` at a time. */
export class BatchReader {
  readonly #source: ReaderSource
  readonly #options: ReaderOptions
  readonly #from: number
  readonly #cancellation = new Cancellation()
  #cursor: Cursor | UnprovenCursor
  #fanout: LiveFanout | undefined
  #leave: (() => void) | undefined
  #head: ParsedHead | undefined
  /** The head when this reader started. Entries up to it are catch-up. */
  #attachedAt: number | undefined
  #retractions: Retractions | undefined
  /** The batches of the latest piece, and the index of the one in which `cursorAt` last looked. */
  #batches: readonly DecodedBatch[] = []
  #batch = 0
  /** No further piece follows. */
  #hasEnded = false
  #isClosed = false

  constructor(source: ReaderSource, options: ReaderOptions) {
    this.#source = source
    this.#options = options
    this.#cursor = options.after ?? { sequence: 0 }
    this.#from = this.#cursor.sequence
  }

  /** The log's status, as last read. */
  get status(): StreamStatus {
    return this.#head ? statusOf(this.#head.ticket) : 'active'
  }

  /** Whether the whole log, as last read, was returned. */
  get isCaughtUp(): boolean {
    return this.#head !== undefined && this.#cursor.sequence >= this.#head.head
  }

  /** The cursor up to which everything was read, once it is verified. */
  get cursor(): Cursor | undefined {
    return this.#cursor.incarnation === undefined ? undefined : this.#cursor
  }

  /** Whether the signal was aborted: no further entry is returned. */
  get isAborted(): boolean {
    return this.#options.signal?.aborted ?? false
  }

  /** Whether an entry of a piece may be merged from several. */
  get isMerging(): boolean {
    return this.#options.merge ?? false
  }

  /** The cursor at an entry of the latest piece. Call it in order of sequences. */
  cursorAt(sequence: number): Cursor {
    while ((this.#batches[this.#batch] as DecodedBatch).last < sequence) this.#batch++
    const { mark } = this.#batches[this.#batch] as DecodedBatch
    return { sequence, incarnation: this.#cursor.incarnation as string, epoch: mark }
  }

  /** Reads the head of the log. Returns whether the log exists. */
  async readHead(): Promise<boolean> {
    const { store, streamId } = this.#source
    this.#onAbort()
    try {
      const page = await this.#call(() => readHead(store, streamId))
      this.#head = page && parsedHeadOf(page)
      return page !== undefined
    } catch (error) {
      // The next read throws it.
      if (this.isAborted) return true
      throw error
    } finally {
      this.#offAbort()
    }
  }

  /** The next piece if there is one now. Undefined at the head, where the cursor is verified. Throws as `next` does. */
  async nextAvailable(): Promise<ReadBatch | undefined> {
    try {
      if (!this.#isClosed) this.#options.signal?.throwIfAborted()
      if (this.#hasEnded) return undefined
      this.#cancellation.throwIfCancelled()
      const fanout = this.#join()
      return await this.#read(fanout, fanout.wakes)
    } catch (error) {
      this.close()
      if (error !== CLOSED) throw error
      return undefined
    }
  }

  /**
   * The next piece; undefined at the end.
   *
   * @throws TruncatedError if the log does not hold the cursor, LogError `unavailable`, or the signal's reason.
   */
  async next(): Promise<ReadBatch | undefined> {
    try {
      if (!this.#isClosed) this.#options.signal?.throwIfAborted()
      while (!this.#hasEnded) {
        this.#cancellation.throwIfCancelled()
        const fanout = this.#join()
        const since = fanout.wakes
        const batch = await this.#read(fanout, since)
        if (batch) return batch
        if (this.#hasEnded || this.#isAtEnd()) break
        await this.#waitForChange(fanout, since)
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
    const { runId, internal, follow, onRetraction } = this.#options
    const { cursor } = this
    const isLive =
      this.#fanout !== undefined && cursor !== undefined && this.isCaughtUp && this.#retractions === undefined
    if (!isLive || this.#hasEnded || runId !== undefined || internal || !follow || onRetraction === 'throw')
      return undefined
    const unsubscribe = this.#fanout?.subscribe(cursor, subscriber)
    if (unsubscribe) this.close()
    return unsubscribe
  }

  /** Stops reading. A waiting `next` ends. */
  close(): void {
    this.#hasEnded = true
    this.#isClosed = true
    this.#offAbort()
    this.#cancellation.cancel(CLOSED)
    this.#leave?.()
  }

  /** Joins on the first read, so that an unused reader holds no resources. */
  #join(): LiveFanout {
    if (this.#fanout === undefined) {
      this.#fanout = this.#source.fanout()
      this.#leave = this.#fanout.join()
      this.#onAbort()
    }
    return this.#fanout
  }

  #onAbort(): void {
    this.#options.signal?.addEventListener('abort', this.#abort, { once: true })
    if (this.isAborted) this.#abort()
  }

  #offAbort(): void {
    this.#options.signal?.removeEventListener('abort', this.#abort)
  }

  readonly #abort = (): void => this.#cancellation.cancel(this.#options.signal?.reason)

  /** The entries after this reader's cursor, from the fan-out or from the store; undefined if there are none. */
  async #read(fanout: LiveFanout, since: number): Promise<ReadBatch | undefined> {
    const cursor = this.#cursor
    const fanoutBatches =
      cursor.incarnation === undefined || this.#attachedAt === undefined ? undefined : fanout.after(cursor)
    if (fanoutBatches !== undefined) {
      this.#head = fanout.head ?? this.#head
      return this.#startBatches(fanoutBatches, cursor.incarnation as string)
    }
    const { store, streamId } = this.#source
    const { pageBytes = PAGE.bytes } = this.#options
    const page = await this.#call(() => store.read(streamId, cursor, { ...PAGE, bytes: pageBytes }))
    if (page === undefined) {
      // A log that does not exist yet has no entries. One that was read before has been removed.
      if (cursor.incarnation === undefined && cursor.sequence === 0) return undefined
      throw new TruncatedError(
        'incarnation',
        `the log ${streamId} does not exist: omit the cursor to wait for it`,
        0,
        0,
      )
    }
    const { truncated, head, floor, incarnation } = page
    if (truncated !== null)
      throw new TruncatedError(
        truncated,
        `the cursor is no longer valid in the log ${streamId}: start from a snapshot`,
        head,
        floor,
      )
    this.#head = parsedHeadOf(page)
    const batches = page.batches.map(batch => new DecodedBatch(batch))
    if (this.#attachedAt === undefined) {
      this.#attachedAt = head
      await this.#collectRetractions(page.floor, batches)
      if (this.#hasEnded) return undefined
    }
    const batch = this.#startBatches(batches, incarnation)
    const next = this.#cursor
    if (next.sequence === head) {
      if (next.incarnation === undefined) this.#cursor = { sequence: head, incarnation, epoch: page.mark }
      fanout.follow(this.#cursor as Cursor, this.#head, since)
    }
    return batch
  }

  #startBatches(batches: readonly DecodedBatch[], incarnation: string): ReadBatch | undefined {
    const last = batches.at(-1)
    if (last === undefined) return undefined
    const after = this.#cursor.sequence
    this.#batches = batches
    this.#batch = 0
    if (this.#seesAll(batches)) return this.#unfiltered(after, last, incarnation, batches)
    const visible: Entry[] = []
    for (const batch of batches) {
      for (const entry of batch.entries) {
        if (entry.sequence <= after) continue
        this.#addIfVisible(entry, visible)
        if (this.#hasEnded) return this.#piece(after, { last: entry.sequence, mark: batch.mark }, incarnation, visible)
      }
    }
    return this.#piece(after, last, incarnation, visible)
  }

  /** Whether this reader gets the batches without filtering, so that they need not be decoded here. */
  #seesAll(batches: readonly DecodedBatch[]): boolean {
    if (this.#options.runId !== undefined || this.#retractions) return false
    if ((batches[0] as DecodedBatch).first <= this.#cursor.sequence) return false
    return batches.every(batch => isPlain(batch.stored))
  }

  /** A piece of all entries of the batches. */
  #unfiltered(after: number, last: DecodedBatch, incarnation: string, batches: readonly DecodedBatch[]): ReadBatch {
    const merges = this.#merges(last.last)
    const cursor = this.#move(last, incarnation)
    return unfilteredPiece({ after, sequence: last.last, cursor, ...this.#progress }, batches, merges)
  }

  #piece(after: number, at: Pick<DecodedBatch, 'last' | 'mark'>, incarnation: string, entries: Entry[]): ReadBatch {
    const merged = this.#merges(at.last) ? coalesce(entries) : entries
    const cursor = this.#move(at, incarnation)
    return { after, sequence: at.last, cursor, entries: merged, ...this.#progress }
  }

  get #progress(): Pick<ReadBatch, 'isCaughtUp' | 'replayEnd'> {
    return { isCaughtUp: this.isCaughtUp, replayEnd: this.#attachedAt as number }
  }

  /** Whether entries up to this sequence are merged: only catch-up is. */
  #merges(last: number): boolean {
    return this.isMerging && last <= (this.#attachedAt as number)
  }

  /** Moves the cursor and returns it as a token. */
  #move({ last, mark }: Pick<DecodedBatch, 'last' | 'mark'>, incarnation: string): string {
    const cursor = { sequence: last, incarnation, epoch: mark }
    this.#cursor = cursor
    // From here on this reader gets every discard and rewind itself, so earlier retractions no longer matter.
    if (this.#options.onRetraction !== 'throw' && last >= (this.#attachedAt as number)) this.#retractions = undefined
    return encodeCursor(cursor)
  }

  /** Adds an entry to the piece if this reader gets it. */
  #addIfVisible(entry: Entry, visible: Entry[]): void {
    const { runId } = this.#options
    const { sequence, chunk, origin } = entry
    const isCatchUp = sequence <= (this.#attachedAt as number)
    if (runId !== undefined && origin.runId === runId && chunk.type === 'run-finished') this.#hasEnded = true
    if (this.#retractions && !this.#isVisible(this.#retractions, entry, isCatchUp, visible)) return
    if (this.#isSelected(entry)) visible.push(entry)
  }

  /** Whether the options select an entry, retracted or not. */
  readonly #isSelected = ({ sequence, origin, chunk, internal }: Entry): boolean => {
    const { runId } = this.#options
    if (internal && !this.#options.internal) return false
    if (runId !== undefined && origin.runId !== runId) return false
    const isCatchUp = sequence <= (this.#attachedAt as number)
    return !(isCatchUp && this.#from === 0 && isData(chunk) && chunk.transient)
  }

  /** Whether no discard or rewind hides an entry from this reader. */
  #isVisible(retractions: Retractions, entry: Entry, isCatchUp: boolean, piece: Entry[]): boolean {
    if (!isCatchUp) retractions.add(entry)
    const retraction = retractions.retractionAt(entry.sequence)
    if (retraction === undefined || retraction.from === retraction.at)
      return !isCatchUp || !retractions.isRetracted(entry)
    const throws = this.#options.onRetraction === 'throw'
    // The entries that the reader has read: all before its start, or all since.
    const read = isCatchUp ? this.#from : this.#cursor.sequence
    if (throws && retraction.firstVisible !== undefined && retraction.firstVisible <= read)
      throw new StreamTruncatedError(retraction.step, retraction.at)
    if (!throws && (!isCatchUp || retraction.from <= read)) return true
    // The reader got none of the retracted entries, so it does not get them now.
    const visible = piece.filter(other => other.sequence < retraction.from || !retractions.isRetracted(other))
    piece.splice(0, piece.length, ...visible)
    // A fold needs the usage of the retracted entries.
    return this.#options.rewound === true
  }

  /**
   * Collects the retractions that affect this reader, and detects whether its run ended before its cursor. `next`
   * holds the batches that were just read. Entries up to the cursor were returned before; only `onRetraction: 'throw'` needs
   * to know which.
   */
  async #collectRetractions(floor: number, next: readonly DecodedBatch[]): Promise<void> {
    const { includeDiscarded, rewound, runId } = this.#options
    const { cuts, run } = (this.#head as ParsedHead).ticket
    const from = this.#from
    const end = this.#attachedAt as number
    const throws = this.#options.onRetraction === 'throw' && !includeDiscarded
    const needsRetractions = throws || (!includeDiscarded && cuts > 0 && from < end)
    const retractions = needsRetractions
      ? new Retractions(this.#isSelected, { keepsRewound: rewound, since: throws ? 0 : from })
      : undefined
    const mayBeOver = runId !== undefined && run?.runId !== runId && from >= floor
    if (retractions === undefined && !mayBeOver) return
    // No entry of a run precedes its request. The step that a rewind goes back to may, so `onRetraction: 'throw'` reads from
    // the floor.
    const isOfRun = runId !== undefined && !throws
    const requestedAt = (isOfRun && (await this.#call(() => this.#source.requestOf(runId)))?.last) || 0
    const mayHaveEnded = mayBeOver && floor > requestedAt
    if (mayHaveEnded && (await this.#call(() => this.#source.hasEnded(runId, floor)))) this.#hasEnded = true
    if (mayBeOver || throws) {
      await this.#forEachEntry(Math.max(floor, requestedAt), from, floor, entry => {
        if (throws) retractions?.add(entry)
        if (entry.chunk.type === 'run-finished' && entry.origin.runId === runId) this.#hasEnded = true
      })
    }
    if (retractions === undefined || this.#hasEnded) return
    for (const { entries } of next) for (const entry of entries) if (entry.sequence > from) retractions.add(entry)
    // If there is more, at least one page is read: it verifies that the request is in this log.
    const rest = Math.max(next.at(-1)?.last ?? from, Math.min(requestedAt, end - 1))
    await this.#forEachEntry(rest, end, floor, entry => retractions.add(entry))
    // For a run that started before the cursor and was rewound later, its start decides which entries stay.
    const low = Math.max(floor, requestedAt, retractions.lowestRewind)
    if (!throws) await this.#forEachEntry(low, from, floor, entry => retractions.addRunStart(entry))
    this.#retractions = retractions
  }

  /** Calls `take` with the entries of `(start, end]` until this reader has ended. */
  async #forEachEntry(start: number, end: number, floor: number, take: (entry: Entry) => void): Promise<void> {
    const { store, streamId } = this.#source
    const { incarnation } = this.#head as ParsedHead
    for (let at = start; at < end && !this.#hasEnded; ) {
      const page = await this.#call(() => store.read(streamId, { sequence: at }, PAGE))
      if (page?.incarnation !== incarnation)
        throw new TruncatedError(
          'incarnation',
          `the log ${streamId} was replaced: read it from its start`,
          page?.head ?? 0,
          page?.floor ?? 0,
        )
      // The entries that this reader is about to get were trimmed, so their retractions are unknown.
      if (page.floor > Math.max(floor, this.#from)) {
        throw new TruncatedError(
          'below-floor',
          `the log ${streamId} was trimmed: start from a snapshot`,
          page.head,
          page.floor,
        )
      }
      for (const batch of page.batches) {
        for (const entry of decodeBatch(batch)) if (entry.sequence > at && entry.sequence <= end) take(entry)
      }
      // Entries that were trimmed meanwhile are skipped.
      at = page.batches.at(-1)?.last ?? page.floor
    }
  }

  #isAtEnd(): boolean {
    const { follow, runId } = this.#options
    if (follow || !this.isCaughtUp) return false
    const { run, last } = (this.#head as ParsedHead).ticket
    if (runId !== undefined) return run?.runId !== runId && last?.runId === runId
    return run === null && last !== null
  }

  /** Calls the store, with retries, until it answers or the reader is closed. */
  #call<T>(call: () => Promise<T>): Promise<T> {
    const { timers, retryTimeoutMs } = this.#source
    return new Promise((resolve, reject) => {
      this.#cancellation.throwIfCancelled()
      const done = this.#cancellation.onCancel(reject)
      retryWhileUnavailable(timers, retryTimeoutMs, call).then(resolve, reject).finally(done)
    })
  }

  /** Waits until the log may have changed since the wake count `since`. */
  #waitForChange(fanout: LiveFanout, since: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const done = (error?: unknown) => {
        cancel()
        removeCallback()
        if (error === undefined || error === CLOSED) resolve()
        else reject(error)
      }
      const cancel = fanout.onChange(since, done)
      const removeCallback = this.#cancellation.onCancel(done)
    })
  }
}

const CLOSED = new LogError('closed', 'the reader was closed: create another')
