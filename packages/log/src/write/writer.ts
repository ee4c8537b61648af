// The writer: the one producer of a run, under one epoch. One append is in flight. Chunks written meanwhile, or within `coalesceMs` of the last
// append, go out together in the next. A batch that changes the ticket goes out alone, on the ticket on which it was decided (law 5).

import type { Chunk, Cursor, WriterOrigin } from '@millrace/protocol'
import type { NewBlob } from '../store/blobs.ts'
import type { NewEntry } from '../store/entry.ts'
import { LogError } from '../store/log-error.ts'
import type { Accepted, AppendResult, LogStore } from '../store/log-store.ts'
import type { Timers } from '../store/timers.ts'
import { batchProblem } from '../ticket/batch-problem.ts'
import { advance, mustStop, pendingOpenedBy, type Ticket } from '../ticket/ticket.ts'
import { Appender, type Claimed } from './appender.ts'
import { Drafts } from './drafts.ts'
import type { Write, WriteOptions } from './lane.ts'
import { type BatchLike, type CommitOptions, type Committed, type Discard, Lane, type LaneWriter } from './lane.ts'
import { Lease } from './lease.ts'
import { PendingWrite } from './pending-write.ts'
import { begins, type Preamble } from './preamble.ts'
import { type AppendLoad, loadOf } from './queue.ts'
import { check, closed, isRefusal, lost } from './refusal.ts'
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
  readonly leaseMs: number
  readonly coalesceMs: number
  readonly patienceMs: number
  readonly maxEntryBytes: number
  readonly blobBytes: number
  readonly maxBlobBytes: number
  readonly queueBytes: number
}

export class Writer {
  readonly streamId: string
  readonly epoch: string
  /** The run's main line. */
  readonly main: Lane
  readonly #settings: WriterSettings
  readonly #bounds: Bounds
  readonly #appender: Appender
  readonly #lease: Lease
  readonly #outbox: WriteQueue
  readonly #drafts = new Drafts()
  readonly #gone = new AbortController()
  readonly #onClose: (writer: Writer) => void
  readonly #lanes: LaneWriter
  #preamble: Preamble | undefined
  #checkpoints = 0
  /** The first words since the last flush that were not taken. */
  #refusal: unknown
  #closing: Promise<void> | undefined

  constructor(
    claimed: Claimed & { readonly askedAt: number },
    origin: WriterOrigin,
    settings: WriterSettings,
    preamble: Preamble,
    onClose: (writer: Writer) => void,
  ) {
    const { streamId, epoch, askedAt } = claimed
    const { store, timers, leaseMs, patienceMs } = settings
    this.streamId = streamId
    this.epoch = epoch
    this.#settings = settings
    this.#bounds = { ...settings, maxBatchBytes: store.maxBatchBytes }
    this.#preamble = preamble
    this.#onClose = onClose
    this.#appender = new Appender(store, timers, patienceMs, claimed)
    this.#outbox = new WriteQueue(
      { ...settings, maxBatchBytes: store.maxBatchBytes },
      {
        mayJoin: slot => this.#mayJoin(slot),
        send: slots => this.#sendSlots(slots),
        stop: error => this.#stop(error),
      },
    )
    const renew = () => store.renew(streamId, epoch, leaseMs)
    this.#lease = new Lease(renew, timers, leaseMs, askedAt, () => this.#stop(lost('fenced', streamId)))
    this.#lanes = {
      write: (from, chunk, options) => this.#write(from, chunk, options),
      commit: (from, batch, options) => this.#commit(from, batch, options),
      fits: (from, batch) => fits(from, batch, this.#bounds, epoch),
      discard: (from, discard) => this.#discard(from, discard),
    }
    this.main = new Lane(this.#lanes, originOf(origin))
  }

  /** The ticket as this writer last saw it; guests move it, and `refresh` looks again. */
  get ticket(): Ticket {
    return this.#appender.ticket
  }

  /** That ticket as it is once this writer's run has begun; throws where it cannot begin. */
  get begun(): Ticket {
    const { ticket } = this
    return this.#preamble ? advance(ticket, this.#preamble(ticket)) : ticket
  }

  /** The last entry that this writer knows the log to hold. */
  get cursor(): Cursor {
    return this.#appender.cursor
  }

  /** Aborted, with the reason, once this writer can write no more: fenced, regressed, out of reach or closed. */
  get signal(): AbortSignal {
    return this.#gone.signal
  }

  /** Whether the lease surely lasts: counted from before it was asked for, on this process's own clock. */
  get isSure(): boolean {
    return this.#lease.isSure
  }

  /** Waits until the lease surely lasts, so that what others must not do meanwhile may begin; throws where this writer can write no more. */
  async sure(): Promise<void> {
    await this.#lease.sure()
    this.signal.throwIfAborted()
  }

  /** Calls back whenever it turns out that somebody else has moved the ticket, soon after it happened, until this writer is gone. */
  watch(onMoved: (ticket: Ticket) => void): void {
    this.signal.throwIfAborted()
    this.#appender.watch(onMoved, () => this.refresh())
  }

  /** A line of work under the same epoch: a sub-agent, a branch, a tool. What is not said is as on the main lane; of an internal lane no reader sees what it says. */
  lane(origin: Partial<WriterOrigin> & { lane: string }, options: { readonly isInternal?: boolean } = {}): Lane {
    return new Lane(this.#lanes, originOf({ ...this.main.origin, ...origin }), options.isInternal)
  }

  /** Appends a chunk on the main lane, soon and in order. */
  write(chunk: Chunk, options?: WriteOptions): Write {
    return this.main.write(chunk, options)
  }

  /** Appends a batch whole, ended by a `checkpoint-created`: it seals the main lane's draft. */
  commit(batch: BatchLike, options?: CommitOptions): Promise<Committed> {
    return this.main.commit(batch, options)
  }

  /**
   * Appends whole what `build` says on the ticket, after all that was written before; where the ticket has moved meanwhile, asks again with the new
   * one. Where it says nothing, nothing is appended and undefined returned.
   */
  decide(build: (ticket: Ticket) => BatchLike | undefined): Promise<Accepted | undefined> {
    return this.#decide(this.main.origin, build)
  }

  /** Says how the run begins or goes on, if nothing was said yet; false, and nothing, where the run that it takes over is to stop: its end says it all. */
  async begin(): Promise<boolean> {
    this.#mustBeOpen()
    return this.#outbox.turn(() => this.#begin())
  }

  /** Reads the ticket again; where the log is not there any more, this writer is fenced. */
  async refresh(): Promise<Ticket> {
    this.signal.throwIfAborted()
    try {
      await this.#outbox.turn(() => this.#appender.look())
    } catch (error) {
      // Whoever works on it need not find that out by a word of theirs, or when the lease is to be renewed.
      if (error instanceof LogError && error.code === 'fenced') this.#stop(error)
      throw error
    }
    return this.ticket
  }

  /** Waits until all that was written so far is in the log; throws where it could not be. */
  async flush(): Promise<void> {
    this.signal.throwIfAborted()
    await this.#outbox.turn(async () => {})
    const refusal = this.#refusal
    this.#refusal = undefined
    if (refusal) throw refusal
  }

  /** Flushes, and lets the log go; the run stays as it is. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    try {
      if (!this.signal.aborted) await this.#outbox.turn(async () => {})
    } finally {
      this.#stop(closed())
      // A lease that cannot be released runs out.
      await this.#settings.store.release(this.streamId, this.epoch).catch(() => {})
    }
  }

  #mustBeOpen(): void {
    this.signal.throwIfAborted()
    if (this.#closing) throw closed()
    this.#outbox.mustHaveRoom()
  }

  #write(from: WriterOrigin, chunk: Chunk, options?: WriteOptions): Write {
    this.#mustBeOpen()
    const entry = entryOf(from, chunk, options)
    const ticket = this.begun
    if (pendingOpenedBy(chunk) || advance(ticket, [entry]) !== ticket) {
      throw new LogError('invalid', `chunk ${chunk.type}: it decides what happens next, say it by commit or decide`)
    }
    check(ticket, [entry])
    const slots = writeSlots(entry, this.#bounds)
    const draft = this.#drafts.touch(entry)
    for (const slot of slots) {
      slot.draft = draft
      this.#outbox.push(slot)
    }
    return new PendingWrite((slots.at(-1) as WriteSlot).flight, this.#outbox.roomIn())
  }

  async #commit(from: WriterOrigin, batch: BatchLike, options: CommitOptions = {}): Promise<Committed> {
    this.#mustBeOpen()
    const entries = commitOf(from, batch, options, () => `${this.epoch}-${++this.#checkpoints}`)
    const slot = batchSlot(entries, this.#bounds)
    if (advance(this.ticket, entries) !== this.ticket) slot.surprises = this.#appender.surprises
    this.#drafts.check(entries)
    const closed = this.#drafts.take(entries)
    this.#outbox.push(slot)
    try {
      const done = await slot.flight.promise
      if (done.outcome === 'moved') this.#drafts.reopen(closed)
      return done
    } catch (error) {
      this.#drafts.reopen(closed)
      throw error
    }
  }

  async #discard(from: WriterOrigin, discard: Discard): Promise<boolean> {
    this.#mustBeOpen()
    const draft = this.#drafts.drop(from)
    if (draft) this.#outbox.drop(draft)
    if (!draft?.isSent) return false
    // A stop may have been taken back, with the request that it made room for.
    if (mustStop(this.ticket)) await this.refresh()
    const done = await this.#decide(from, ticket => {
      // The end of a run seals its drafts; where it is to stop, what was shown is kept.
      const isKept = ticket.run?.runId !== from.runId || mustStop(ticket)
      return isKept ? undefined : [{ type: 'step-discarded', ...discard }]
    })
    if (done === undefined && this.ticket.run?.runId === from.runId) this.#drafts.reopen([draft])
    return done !== undefined
  }

  async #decide(from: WriterOrigin, build: (ticket: Ticket) => BatchLike | undefined): Promise<Accepted | undefined> {
    this.#mustBeOpen()
    const { open } = this.#drafts
    return this.#outbox.turn(async () => {
      for (;;) {
        const batch = build(this.ticket)
        if (batch === undefined || batch.length === 0) return undefined
        const { entries, blobs } = batchSlot(entriesOf(from, batch), this.#bounds)
        this.#drafts.check(entries)
        const done = await this.#try(entries, blobs)
        if (done === undefined) continue
        this.#drafts.take(entries, open)
        return done
      }
    })
  }

  /** A batch goes out with others where it does not depend on the ticket. */
  #mayJoin(slot: Slot): boolean {
    if (!slot.isBatch) return true
    if (slot.surprises !== undefined) return false
    const { ticket } = this
    const { entries } = slot
    return this.#preamble === undefined && advance(ticket, entries) === ticket && !batchProblem(ticket, entries)
  }

  async #sendSlots(slots: readonly Slot[]): Promise<void> {
    const [first] = slots
    if (slots.length === 1 && first?.isBatch) return this.#sendBatch(first)
    // Before anything else can happen: a discard must know that the log may hold some of it.
    for (const { draft } of slots) if (draft) draft.isSent = true
    let left = loadOf(slots)
    try {
      for (;;) {
        left = await this.#ofOpenRun(left)
        if (left.slots.length === 0) return
        const done = await this.#try(left.entries, left.blobs)
        if (done === undefined) continue
        for (const { flight } of left.slots) flight.resolve(done)
        return
      }
    } catch (error) {
      this.#refuse(left.slots, error)
      if (!isRefusal(error)) throw error
    }
  }

  #refuse(slots: readonly Slot[], error: unknown): void {
    for (const { flight } of slots) flight.reject(error)
    if (slots.length > 0) this.#refusal ??= error
  }

  /** What of a load is still of the open run: nothing follows the end (law 7), and nothing is added to what a stop keeps. */
  async #ofOpenRun(load: AppendLoad): Promise<AppendLoad> {
    const isToStop = await this.#isToStop()
    if (this.#preamble && !isToStop) return load
    const open = isToStop ? undefined : this.ticket.run?.runId
    const late = load.slots.filter(({ entries }) => entries[0]?.origin.runId !== open)
    if (late.length === 0) return load
    for (const slot of late) {
      const problem = batchProblem(this.ticket, slot.entries) ?? `run ${this.ticket.run?.runId} is to stop: end it`
      this.#refuse([slot], new LogError('refused', problem))
    }
    return loadOf(load.slots.filter(slot => !late.includes(slot)))
  }

  /** Whether the run that this writer is about to take over is to stop: the words of the one before it are kept as they are. */
  async #isToStop(): Promise<boolean> {
    // A stop may have been taken back.
    if (this.#preamble && mustStop(this.ticket)) await this.#appender.look()
    return this.#preamble !== undefined && mustStop(this.ticket)
  }

  async #begin(): Promise<boolean> {
    while (this.#preamble) {
      const isToStop = await this.#isToStop()
      // Whatever is to stop, what cannot begin at all is told so.
      check(this.ticket, this.#preamble(this.ticket))
      if (isToStop) return false
      await this.#try([], [])
    }
    return true
  }

  async #sendBatch({ entries, blobs, bytes, flight, surprises }: BatchSlot): Promise<void> {
    // While it waited somebody else's turn found another ticket than the one on which this was decided (law 5).
    if (surprises !== undefined && surprises !== this.#appender.surprises) {
      return flight.resolve({ outcome: 'moved', ticket: this.ticket })
    }
    try {
      // What the run begins with goes ahead where both would be more than the store takes at once.
      const isLarge = bytes > this.#bounds.maxBatchBytes / 2 && !begins(entries)
      if (isLarge) await this.#begin()
      for (;;) {
        const isDecision = advance(this.ticket, entries) !== this.ticket
        const isOver = await this.#isToStop()
        const done = isOver ? undefined : await this.#try(entries, blobs)
        // Where only what begins the run was decided on the ticket, that is decided again.
        if (done || isDecision || isOver) return flight.resolve(done ?? { outcome: 'moved', ticket: this.ticket })
      }
    } catch (error) {
      flight.reject(error)
    }
  }

  /** Appends a batch on the ticket as it was seen; undefined where that has moved, and then it was looked at again. */
  async #try(entries: readonly NewEntry[], blobs: readonly NewBlob[]): Promise<Accepted | undefined> {
    const { ticket } = this
    const all = this.#preamble && !begins(entries) ? [...this.#preamble(ticket), ...entries] : entries
    check(ticket, all)
    const next = advance(ticket, all)
    const result = await this.#send(all, blobs, next === ticket ? undefined : next)
    if (result.outcome === 'moved') {
      await this.#appender.look()
      return undefined
    }
    if ('first' in result) {
      this.#preamble = undefined
      return result
    }
    throw new LogError(result.outcome, `the append was answered with ${result.outcome}`)
  }

  async #send(entries: readonly NewEntry[], blobs: readonly NewBlob[], next?: Ticket): Promise<AppendResult> {
    this.signal.throwIfAborted()
    this.#outbox.sent()
    let result: AppendResult
    try {
      result = await this.#appender.append(entries, blobs, next)
    } catch (error) {
      // Nobody knows whether it is in the log: what follows could not be in order.
      if (!isRefusal(error)) this.#stop(error)
      throw error
    }
    if (result.outcome === 'fenced' || result.outcome === 'regressed') this.#stop(lost(result.outcome, this.streamId))
    this.signal.throwIfAborted()
    return result
  }

  #stop(error: unknown): void {
    if (this.signal.aborted) return
    this.#gone.abort(error)
    this.#lease.stop()
    this.#appender.stop()
    this.#outbox.close(error)
    this.#onClose(this)
  }
}
