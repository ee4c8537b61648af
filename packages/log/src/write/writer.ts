// The writer: the only producer of a run, under one epoch. It has one append in flight. Chunks written meanwhile, or
// within `coalesceMs` of the last append, are sent together in the next. A batch that changes the ticket is sent alone,
// conditional on the ticket on which it was decided (law 5).

import type { Chunk, Cursor, WriterOrigin } from '@millrace/protocol'
import type { AppendListener } from '../store/append-listener.ts'
import type { NewBlob } from '../store/blobs.ts'
import type { NewEntry } from '../store/entry.ts'
import { LogError } from '../store/log-error.ts'
import type { Accepted, AppendResult, LogStore } from '../store/log-store.ts'
import type { Timers } from '../store/timers.ts'
import { batchProblem, checkBatch } from '../ticket/batch-problem.ts'
import { advance, type Checkpoint, mustStop, pendingOpenedBy, type Ticket } from '../ticket/ticket.ts'
import { Appender, type Claimed } from './appender.ts'
import { Drafts } from './drafts.ts'
import type { Write, WriteOptions } from './lane.ts'
import { type BatchLike, type CommitOptions, type Committed, type Discard, Lane, type LaneWriter } from './lane.ts'
import { lastCheckpoint } from './last-checkpoint.ts'
import type { Lease } from './lease.ts'
import type { LeaseTerms } from './lease-terms.ts'
import { PendingWrite } from './pending-write.ts'
import { type Preamble, startsRun } from './preamble.ts'
import { type AppendContent, appendContent } from './queue.ts'
import {
  type BatchSlot,
  type Bounds,
  batchSlot,
  commitOf,
  entriesOf,
  entryOf,
  fits,
  originOf,
  type Slot,
  type WriteSlot,
  writeSlots,
} from './slot.ts'
import { WriteQueue } from './write-queue.ts'

/** Settings that all writers of a manager share. */
export interface WriterSettings {
  readonly store: LogStore
  readonly timers: Timers
  readonly terms: LeaseTerms
  readonly coalesceMs: number
  readonly retryTimeoutMs: number
  readonly maxEntryBytes: number
  readonly blobBytes: number
  readonly maxBlobBytes: number
  readonly queueBytes: number
}

/** The listener of the readers that a log has in this process now. */
export type ReadersOf = (streamId: string) => AppendListener | undefined

/** The one producer of a log, under one epoch. Another claim fences it. */
export class Writer {
  /** Id of the log. */
  readonly streamId: string
  /** Fencing token of the claim. The store refuses appends of any other epoch. */
  readonly epoch: string
  /** The run's main lane. */
  readonly main: Lane
  readonly #settings: WriterSettings
  readonly #bounds: Bounds
  readonly #appender: Appender
  readonly #lease: Lease
  readonly #queue: WriteQueue
  readonly #drafts = new Drafts()
  readonly #closed = new AbortController()
  readonly #onClose: (writer: Writer) => void
  readonly #lanes: LaneWriter
  #preamble: Preamble | undefined
  #checkpoints = 0
  #checkpoint: Checkpoint | undefined
  /** The first rejected write since the last flush. */
  #contentError: unknown
  #closing: Promise<void> | undefined

  constructor(
    claimed: Claimed,
    lease: Lease,
    origin: WriterOrigin,
    settings: WriterSettings,
    preamble: Preamble,
    onClose: (writer: Writer) => void,
    readersOf: ReadersOf = () => undefined,
  ) {
    const { streamId, epoch } = claimed
    const { store, timers, retryTimeoutMs } = settings
    this.streamId = streamId
    this.epoch = epoch
    this.#settings = settings
    this.#bounds = { ...settings, maxBatchBytes: store.maxBatchBytes }
    this.#preamble = preamble
    this.#onClose = onClose
    this.#appender = new Appender(store, timers, retryTimeoutMs, claimed, () => readersOf(streamId))
    this.#queue = new WriteQueue(
      { ...settings, maxBatchBytes: store.maxBatchBytes },
      {
        mayJoin: slot => this.#mayJoin(slot),
        send: slots => this.#sendSlots(slots),
        stop: error => this.#stop(error),
      },
    )
    this.#lease = lease
    this.#lanes = {
      write: (from, chunk, options) => this.#write(from, chunk, options),
      commit: (from, batch, options) => this.#commit(from, batch, options),
      fits: (from, batch) => fits(from, batch, this.#bounds, epoch),
      discard: (from, discard) => this.#discard(from, discard),
    }
    this.main = new Lane(this.#lanes, originOf(origin))
    lease.whenLost(() => this.#stop(lostError('fenced', streamId)))
  }

  /** The ticket as last read. Guests change it; `refresh` reads it again. */
  get ticket(): Ticket {
    return this.#appender.ticket
  }

  /**
   * The ticket once this writer's run has begun.
   *
   * @throws LogError if it cannot begin.
   */
  get begun(): Ticket {
    const { ticket } = this
    return this.#preamble ? advance(ticket, this.#preamble(ticket)) : ticket
  }

  /** The last entry that this writer knows to be in the log. */
  get cursor(): Cursor {
    return this.#appender.cursor
  }

  /** Upper limit of the size of a value in an entry, in bytes: that of an entry, or of a blob if it is larger. */
  get maxValueBytes(): number {
    const { maxEntryBytes, maxBlobBytes } = this.#settings
    return Math.max(maxEntryBytes, maxBlobBytes)
  }

  /** The last checkpoint that this writer made on the main lane of its run. Undefined if it has made none. */
  get checkpoint(): Checkpoint | undefined {
    return this.#checkpoint
  }

  /** Aborted, with the reason, once this writer can no longer write: fenced, regressed, unavailable or closed. */
  get signal(): AbortSignal {
    return this.#closed.signal
  }

  /** Whether the lease is certainly valid: counted from before the request, on this process's clock. */
  get isLeaseValid(): boolean {
    return this.#lease.isValid
  }

  /**
   * Waits until the lease is certainly valid, before work that no other process may do at the same time.
   *
   * @throws the signal's reason if this writer can no longer write.
   */
  async whenLeaseValid(): Promise<void> {
    await this.#lease.whenValid()
    this.signal.throwIfAborted()
  }

  /** Calls back after every change of the ticket by others, until this writer is closed. */
  watch(onMoved: (ticket: Ticket) => void): void {
    this.signal.throwIfAborted()
    this.#appender.watch(onMoved, () => this.refresh())
  }

  /** Calls the listener from the next append on. Returns the function that removes it. */
  listen(listener: AppendListener): () => void {
    return this.#appender.listen(listener)
  }

  /**
   * A line of work under the same epoch: a sub-agent, a branch, a tool. Omitted fields are those of the main lane.
   * Entries of an internal lane are hidden from readers.
   */
  lane(origin: Partial<WriterOrigin> & { lane: string }, options: { readonly isInternal?: boolean } = {}): Lane {
    return new Lane(this.#lanes, originOf({ ...this.main.origin, ...origin }), options.isInternal)
  }

  /** Appends a chunk on the main lane, soon and in order. */
  write(chunk: Chunk, options?: WriteOptions): Write {
    return this.main.write(chunk, options)
  }

  /** Appends a batch as a whole, ended by a `checkpoint-created`, and commits the main lane's draft. */
  commit(batch: BatchLike, options?: CommitOptions): Promise<Committed> {
    return this.main.commit(batch, options)
  }

  /**
   * Appends the batch that `build` returns for the ticket, after everything written before. Calls `build` again if
   * the ticket has changed meanwhile. Appends nothing, and returns undefined, if `build` does.
   */
  decide(build: (ticket: Ticket) => BatchLike | undefined): Promise<Accepted | undefined> {
    return this.#decide(this.main.origin, build)
  }

  /**
   * Writes the entries that start or continue the run, if none were written yet. Returns false, and writes nothing,
   * if the run that it takes over must stop.
   */
  async begin(): Promise<boolean> {
    this.#mustBeOpen()
    return this.#queue.exclusive(() => this.#begin())
  }

  /** Reads the ticket again. If the log no longer exists, this writer is fenced. */
  async refresh(): Promise<Ticket> {
    this.signal.throwIfAborted()
    try {
      await this.#queue.exclusive(() => this.#appender.readTicket())
    } catch (error) {
      // The driver learns of it now, not at its next write or renewal.
      if (error instanceof LogError && error.code === 'fenced') this.#stop(error)
      throw error
    }
    return this.ticket
  }

  /**
   * Waits until everything written so far is in the log.
   *
   * @throws the error of the first rejected write.
   */
  async flush(): Promise<void> {
    this.signal.throwIfAborted()
    await this.#queue.exclusive(async () => {})
    const contentError = this.#contentError
    this.#contentError = undefined
    if (contentError) throw contentError
  }

  /** Flushes, and releases the log. The run stays open. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    try {
      if (!this.signal.aborted) await this.#queue.exclusive(async () => {})
    } finally {
      this.#stop(closedError())
      // A lease that cannot be released expires.
      await this.#settings.store.release(this.streamId, this.epoch).catch(() => {})
    }
  }

  #mustBeOpen(): void {
    this.signal.throwIfAborted()
    if (this.#closing) throw closedError()
    this.#queue.mustHaveRoom()
  }

  #write(from: WriterOrigin, chunk: Chunk, options?: WriteOptions): Write {
    this.#mustBeOpen()
    const entry = entryOf(from, chunk, options)
    const ticket = this.begun
    if (pendingOpenedBy(chunk) || advance(ticket, [entry]) !== ticket) {
      throw new LogError('invalid', `chunk ${chunk.type}: it changes the ticket, write it with commit or decide`)
    }
    checkBatch(ticket, [entry])
    const slots = writeSlots(entry, this.#bounds)
    const draft = this.#drafts.add(entry)
    for (const slot of slots) {
      slot.draft = draft
      this.#queue.push(slot)
    }
    return new PendingWrite((slots.at(-1) as WriteSlot).result, this.#queue.whenRoom())
  }

  async #commit(from: WriterOrigin, batch: BatchLike, options: CommitOptions = {}): Promise<Committed> {
    this.#mustBeOpen()
    const entries = commitOf(from, batch, options, () => `${this.epoch}-${++this.#checkpoints}`)
    const slot = batchSlot(entries, this.#bounds)
    if (advance(this.ticket, entries) !== this.ticket) slot.foreignChanges = this.#appender.foreignChanges
    this.#drafts.check(entries)
    const closed = this.#drafts.addBatch(entries)
    this.#queue.push(slot)
    try {
      const done = await slot.result.promise
      if (done.outcome === 'moved') this.#drafts.reopen(closed)
      else this.#noteCheckpoint(entries)
      return done
    } catch (error) {
      this.#drafts.reopen(closed)
      throw error
    }
  }

  async #discard(from: WriterOrigin, discard: Discard): Promise<boolean> {
    this.#mustBeOpen()
    const draft = this.#drafts.drop(from)
    if (draft) this.#queue.drop(draft)
    if (!draft?.isSent) return false
    // A stop may have been withdrawn, with the request that caused it.
    if (mustStop(this.ticket)) await this.refresh()
    const done = await this.#decide(from, ticket => {
      // The end of a run commits its drafts. If the run must stop, the text that readers have seen is kept.
      const keepsDraft = ticket.run?.runId !== from.runId || mustStop(ticket)
      return keepsDraft ? undefined : [{ type: 'step-discarded', ...discard }]
    })
    if (done === undefined && this.ticket.run?.runId === from.runId) this.#drafts.reopen([draft])
    return done !== undefined
  }

  async #decide(from: WriterOrigin, build: (ticket: Ticket) => BatchLike | undefined): Promise<Accepted | undefined> {
    this.#mustBeOpen()
    const { open } = this.#drafts
    return this.#queue.exclusive(async () => {
      for (;;) {
        const batch = build(this.ticket)
        if (batch === undefined || batch.length === 0) return undefined
        const { entries, blobs } = batchSlot(entriesOf(from, batch), this.#bounds)
        this.#drafts.check(entries)
        const done = await this.#tryAppend(entries, blobs)
        if (done === undefined) continue
        const closed = this.#drafts.addBatch(entries, open)
        // Chunks that were written while this batch was in flight follow it, so they begin a new draft.
        for (const slot of this.#queue.slotsOf(closed)) slot.draft = this.#drafts.add(slot.entries[0] as NewEntry)
        this.#noteCheckpoint(entries)
        return done
      }
    })
  }

  #noteCheckpoint(entries: readonly NewEntry[]): void {
    this.#checkpoint = lastCheckpoint(entries, this.main.origin) ?? this.#checkpoint
  }

  /** A batch is sent with others if it does not depend on the ticket. */
  #mayJoin(slot: Slot): boolean {
    if (!slot.isBatch) return true
    if (slot.foreignChanges !== undefined) return false
    const { ticket } = this
    const { entries } = slot
    return this.#preamble === undefined && advance(ticket, entries) === ticket && !batchProblem(ticket, entries)
  }

  async #sendSlots(slots: readonly Slot[]): Promise<void> {
    const [first] = slots
    if (slots.length === 1 && first?.isBatch) return this.#sendBatch(first)
    // First of all: a discard must know that the log may hold some of it.
    for (const { draft } of slots) if (draft) draft.isSent = true
    let content = appendContent(slots)
    try {
      for (;;) {
        content = await this.#withoutLateSlots(content)
        if (content.slots.length === 0) return
        const done = await this.#tryAppend(content.entries, content.blobs)
        if (done === undefined) continue
        for (const { result } of content.slots) result.resolve(done)
        return
      }
    } catch (error) {
      this.#refuse(content.slots, error)
      if (!isContentError(error)) throw error
    }
  }

  #refuse(slots: readonly Slot[], error: unknown): void {
    for (const { result } of slots) result.reject(error)
    if (slots.length > 0) this.#contentError ??= error
  }

  /**
   * The content without slots that came too late: nothing follows a run's end (law 7), and a stopped run gets no
   * further text.
   */
  async #withoutLateSlots(content: AppendContent): Promise<AppendContent> {
    const isStopping = await this.#mustStop()
    if (this.#preamble && !isStopping) return content
    const open = isStopping ? undefined : this.ticket.run?.runId
    const late = content.slots.filter(({ entries }) => entries[0]?.origin.runId !== open)
    if (late.length === 0) return content
    for (const slot of late) {
      const problem = batchProblem(this.ticket, slot.entries) ?? `run ${this.ticket.run?.runId} must stop: end it`
      this.#refuse([slot], new LogError('refused', problem))
    }
    return appendContent(content.slots.filter(slot => !late.includes(slot)))
  }

  /** Whether the run that this writer is about to take over must stop: then the text of the driver before is kept. */
  async #mustStop(): Promise<boolean> {
    // A stop may have been withdrawn.
    if (this.#preamble && mustStop(this.ticket)) await this.#appender.readTicket()
    return this.#preamble !== undefined && mustStop(this.ticket)
  }

  async #begin(): Promise<boolean> {
    while (this.#preamble) {
      const isStopping = await this.#mustStop()
      // A run that cannot begin throws even if it must stop.
      checkBatch(this.ticket, this.#preamble(this.ticket))
      if (isStopping) return false
      await this.#tryAppend([], [])
    }
    return true
  }

  async #sendBatch({ entries, blobs, bytes, result, foreignChanges }: BatchSlot): Promise<void> {
    // A turn that ran before found another ticket than the one on which this was decided (law 5).
    if (foreignChanges !== undefined && foreignChanges !== this.#appender.foreignChanges) {
      return result.resolve({ outcome: 'moved', ticket: this.ticket })
    }
    try {
      // The preamble is sent first if both together could exceed the store's limit.
      const isLarge = bytes > this.#bounds.maxBatchBytes / 2 && !startsRun(entries)
      if (isLarge) await this.#begin()
      for (;;) {
        const isDecision = advance(this.ticket, entries) !== this.ticket
        const isStopping = await this.#mustStop()
        const done = isStopping ? undefined : await this.#tryAppend(entries, blobs)
        // If only the preamble depended on the ticket, it is built again.
        if (done || isDecision || isStopping) return result.resolve(done ?? { outcome: 'moved', ticket: this.ticket })
      }
    } catch (error) {
      result.reject(error)
    }
  }

  /** Appends a batch on the ticket as last read. Undefined if it has changed; then it was read again. */
  async #tryAppend(entries: readonly NewEntry[], blobs: readonly NewBlob[]): Promise<Accepted | undefined> {
    const { ticket } = this
    const all = this.#preamble && !startsRun(entries) ? [...this.#preamble(ticket), ...entries] : entries
    checkBatch(ticket, all)
    const next = advance(ticket, all)
    const result = await this.#send(all, blobs, next === ticket ? undefined : next)
    if (result.outcome === 'moved') {
      await this.#appender.readTicket()
      return undefined
    }
    if ('first' in result) {
      this.#preamble = undefined
      return result
    }
    // A fenced or regressed writer was stopped by `#send`, so only `too-large` is left.
    throw new LogError(
      result.outcome,
      `the store refused a batch of ${all.length} entries as ${result.outcome}: write less at once`,
    )
  }

  async #send(entries: readonly NewEntry[], blobs: readonly NewBlob[], next?: Ticket): Promise<AppendResult> {
    this.signal.throwIfAborted()
    this.#queue.sent()
    let result: AppendResult
    try {
      result = await this.#appender.append(entries, blobs, next)
    } catch (error) {
      // The outcome is unknown, so the order of later appends could not be kept.
      if (!isContentError(error)) this.#stop(error)
      throw error
    }
    if (result.outcome === 'fenced' || result.outcome === 'regressed')
      this.#stop(lostError(result.outcome, this.streamId))
    this.signal.throwIfAborted()
    return result
  }

  #stop(error: unknown): void {
    if (this.signal.aborted) return
    this.#closed.abort(error)
    this.#lease.stop()
    this.#appender.stop()
    this.#queue.close(error)
    this.#onClose(this)
  }
}

const closedError = (): LogError => new LogError('closed', 'the writer was closed: create another one')

/** The error of a writer that lost its log. */
function lostError(outcome: 'fenced' | 'regressed', streamId: string): LogError {
  if (outcome === 'fenced')
    return new LogError('fenced', `another writer has claimed the log ${streamId}: claim it again to write`)
  const loss = `the log ${streamId} lost entries that were acknowledged`
  return new LogError('regressed', `${loss}: claim it again and read it`)
}

/** Whether an append was rejected for its content: nothing of it is in the log, and the writer can continue. */
const isContentError = (error: unknown): boolean =>
  error instanceof LogError && (error.code === 'refused' || error.code === 'too-large' || error.code === 'invalid')
