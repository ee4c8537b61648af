// The writer: the one producer of a run, under one epoch. It has one append in flight; what is written meanwhile, or within 16 ms of the last
// append, goes out together in the next (section 5 of the design). What changes the ticket goes out alone, on the ticket on which it was decided (law 5).

import { type Chunk, type Cursor, checkChunk, isWord, type WriterOrigin } from '@millrace/protocol'
import type { NewEntry } from '../entry.ts'
import { LogError } from '../error.ts'
import type { Accepted, AppendResult, LogStore } from '../store.ts'
import { problemOf } from '../ticket/legality.ts'
import { advance, openedBy, type Ticket } from '../ticket/ticket.ts'
import { Appender, type Claimed } from './appender.ts'
import { extract } from './blobs.ts'
import { Drafts } from './drafts.ts'
import type { LaneWriter, Write, WriteOptions } from './lane.ts'
import { type BatchLike, type CommitOptions, type Committed, type Discard, Lane, type Said } from './lane.ts'
import { Lease } from './lease.ts'
import { deltaOf, Flight, Queue, type Slot, type Written } from './queue.ts'
import type { Timers } from './timers.ts'

/** What the writers of a manager have in common. */
export interface WriterSettings {
  readonly store: LogStore
  readonly timers: Timers
  readonly leaseMs: number
  readonly coalesceMs: number
  readonly patienceMs: number
  readonly maxEntryBytes: number
  readonly blobBytes: number
  readonly queueBytes: number
}

/** What the first batch begins with, unless the caller's own does; decided again where the ticket has moved. Throws where nothing can begin. */
export type Preamble = (ticket: Ticket) => readonly NewEntry[]

/** Writes that nobody waits for may exceed the queue's bound by this factor before they are refused (law 8). */
const HARD = 16
/** What an entry takes beside its delta, at most, in all but odd cases; those are measured where they matter. */
const OVERHEAD_BYTES = 512
/** The most of the queue that goes out in one append. */
const LOAD_BYTES = 1024 * 1024

const BEGINS = new Set(['run-started', 'executor-superseded', 'run-resumed'])

export class Writer {
  readonly streamId: string
  readonly epoch: string
  /** The run's main line. */
  readonly main: Lane
  readonly #settings: WriterSettings
  readonly #appender: Appender
  readonly #lease: Lease
  readonly #queue = new Queue()
  readonly #drafts = new Drafts()
  readonly #gone = new AbortController()
  readonly #onClose: (writer: Writer) => void
  readonly #lanes: LaneWriter
  #preamble: Preamble | undefined
  #sentAt = Number.NEGATIVE_INFINITY
  #pumping: Promise<void> | undefined
  #cancelTimer: (() => void) | undefined
  #room: PromiseWithResolvers<void> | undefined
  #turn: Promise<unknown> = Promise.resolve()
  #checkpoints = 0
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
    this.#preamble = preamble
    this.#onClose = onClose
    this.#appender = new Appender(store, timers, patienceMs, claimed)
    const lost = () => this.#stop(new LogError('fenced', `another writer has the log ${streamId}`))
    this.#lease = new Lease(() => store.renew(streamId, epoch, leaseMs), timers, leaseMs, askedAt, lost)
    this.#lanes = {
      write: (from, chunk, options) => this.#write(from, chunk, options),
      commit: (from, batch, options) => this.#commit(from, batch, options),
      discard: (from, discard) => this.#discard(from, discard),
    }
    this.main = new Lane(this.#lanes, origin)
  }

  /** The ticket as this writer last saw it; guests move it, and `refresh` looks again. */
  get ticket(): Ticket {
    return this.#appender.ticket
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

  /** A line of work under the same epoch: a sub-agent, a branch, a tool. What is not said is as on the main lane. */
  lane(origin: Partial<WriterOrigin> & { lane: string }): Lane {
    return new Lane(this.#lanes, { ...this.main.origin, ...origin })
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

  /** Reads the ticket again. */
  async refresh(): Promise<Ticket> {
    await this.#exclusively(() => this.#appender.look())
    return this.ticket
  }

  /** Waits until all that was written so far is in the log; throws where it could not be. */
  async flush(): Promise<void> {
    this.signal.throwIfAborted()
    await this.#exclusively(() => this.#drain())
  }

  /** Flushes, and lets the log go; the run stays as it is. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    try {
      if (!this.signal.aborted) await this.flush()
    } finally {
      this.#stop(new LogError('closed', 'the writer was closed: make another one'))
      // A lease that cannot be released runs out.
      await this.#settings.store.release(this.streamId, this.epoch).catch(() => {})
    }
  }

  #write(from: WriterOrigin, chunk: Chunk, options?: WriteOptions): Write {
    this.signal.throwIfAborted()
    const entry = this.#entry(from, chunk, options)
    const { ticket } = this
    if (openedBy(chunk) || advance(ticket, [entry]) !== ticket) {
      throw new LogError('invalid', `chunk ${chunk.type}: it decides what happens next, say it by commit or decide`)
    }
    if (this.#preamble === undefined) check(ticket, [entry])
    if (this.#queue.bytes > this.#settings.queueBytes * HARD) {
      throw new LogError('queue-full', `${this.#queue.bytes} bytes wait to be appended: await each write`)
    }
    const slots = this.#pieces(entry).map(piece => this.#slot([piece], chunk))
    this.#drafts.touch(entry.origin as WriterOrigin, chunk)
    for (const slot of slots) this.#queue.push(slot)
    this.#pump(false)
    return new Waiting((slots.at(-1) as Slot).flight, this.#roomIn())
  }

  async #commit(from: WriterOrigin, batch: BatchLike, options: CommitOptions = {}): Promise<Committed> {
    this.signal.throwIfAborted()
    const { closesStep, ...rest } = options
    const entries = this.#entries(from, batch, rest)
    if (entries.at(-1)?.chunk.type !== 'checkpoint-created') {
      const checkpointId = `${this.epoch}-${++this.#checkpoints}`
      const said = {
        type: 'checkpoint-created' as const,
        checkpointId,
        ...(closesStep !== undefined && { closesStep }),
      }
      entries.push(this.#entry(from, said, rest))
    }
    const slot = this.#slot(entries)
    if (this.#preamble === undefined && advance(this.ticket, entries) === this.ticket) {
      check(this.ticket, entries)
      this.#touch(entries)
      this.#queue.push(slot)
      this.#pump(true)
      return slot.flight.promise as Promise<Accepted>
    }
    return this.#exclusively(async () => {
      await this.#drain()
      for (;;) {
        const isDecision = advance(this.ticket, entries) !== this.ticket
        const done = await this.#try(slot)
        if (done) return done
        // Only what begins the run was decided on the ticket: that is decided again.
        if (isDecision) return { outcome: 'moved', ticket: this.ticket }
      }
    })
  }

  async #discard(from: WriterOrigin, discard: Discard): Promise<boolean> {
    this.#queue.drop(from)
    const done = await this.#decide(from, () => {
      if (this.#drafts.isSent(from)) return [{ type: 'step-discarded', ...discard }]
      this.#drafts.drop(from)
      return undefined
    })
    return done !== undefined
  }

  #decide(from: WriterOrigin, build: (ticket: Ticket) => BatchLike | undefined): Promise<Accepted | undefined> {
    return this.#exclusively(async () => {
      await this.#drain()
      for (;;) {
        const batch = build(this.ticket)
        if (batch === undefined || batch.length === 0) return undefined
        const accepted = await this.#try(this.#slot(this.#entries(from, batch)))
        if (accepted) return accepted
      }
    })
  }

  /** Appends a batch on the ticket as it was seen; undefined where that has moved, and then it was looked at again. */
  async #try({ entries, blobs }: Slot): Promise<Accepted | undefined> {
    const { ticket } = this
    const begins = entries.some(({ chunk }) => BEGINS.has(chunk.type))
    const all = begins ? entries : [...(this.#preamble?.(ticket) ?? []), ...entries]
    check(ticket, all)
    const next = advance(ticket, all)
    const result = await this.#send(all, blobs, next === ticket ? undefined : next)
    if (result.outcome === 'moved') {
      await this.#appender.look()
      return undefined
    }
    this.#preamble = undefined
    this.#touch(entries)
    return accepted(result)
  }

  /** Sends all that was queued by now. */
  async #drain(): Promise<void> {
    for (let left = this.#queue.length; left > 0; ) left -= await this.#sendLoad()
  }

  /** Sends one load of the queue; tells of how many slots. */
  async #sendLoad(): Promise<number> {
    const { slots, entries, blobs } = this.#queue.take(LOAD_BYTES)
    if (slots.length === 0) return 1
    this.#drafts.sent()
    this.#makeRoom()
    try {
      let done: Accepted | undefined
      if (this.#preamble) while (done === undefined) done = await this.#try({ entries, blobs } as Slot)
      else done = accepted(await this.#send(entries, blobs))
      for (const { flight } of slots) flight.resolve(done)
    } catch (error) {
      for (const { flight } of slots) flight.reject(error)
      throw error
    }
    return slots.length
  }

  async #send(entries: Slot['entries'], blobs: Slot['blobs'], next?: Ticket): Promise<AppendResult> {
    this.signal.throwIfAborted()
    this.#sentAt = this.#settings.timers.now()
    let result: AppendResult
    try {
      result = await this.#appender.append(entries, blobs, next)
    } catch (error) {
      // Nobody knows whether it is in the log: what follows could not be in order.
      this.#stop(error)
      throw error
    }
    if (result.outcome === 'fenced' || result.outcome === 'regressed')
      this.#stop(failure(result.outcome, this.streamId))
    this.signal.throwIfAborted()
    return result
  }

  /** Sends what is queued: at once, or after a while for deltas that come close to others. */
  #pump(isUrgent: boolean): void {
    if (this.#pumping || this.#queue.length === 0) return
    const { timers, coalesceMs } = this.#settings
    const left = this.#sentAt + coalesceMs - timers.now()
    if (!isUrgent && left > 0 && this.#queue.isWaiting) {
      this.#cancelTimer ??= timers.after(left, () => {
        this.#cancelTimer = undefined
        this.#pump(true)
      })
      return
    }
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    const sent = this.#exclusively(() => this.#sendLoad())
    // Who waits for a write hears of its failure; the pump just ends.
    this.#pumping = sent.then(
      () => {
        this.#pumping = undefined
        this.#pump(false)
      },
      error => this.#stop(error),
    )
  }

  /** One thing at a time: an append, or a decision with all that it takes. */
  #exclusively<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(() => {
      this.signal.throwIfAborted()
      return work()
    })
    this.#turn = done.catch(() => {})
    return done
  }

  #stop(error: unknown): void {
    if (this.signal.aborted) return
    this.#gone.abort(error)
    this.#lease.stop()
    this.#cancelTimer?.()
    this.#queue.fail(error)
    this.#room?.reject(error)
    this.#onClose(this)
  }

  #roomIn(): Promise<void> | undefined {
    if (this.#queue.bytes <= this.#settings.queueBytes) return undefined
    this.#room ??= Promise.withResolvers()
    // Who does not await the write does not hear of it here; the writer's signal tells.
    this.#room.promise.catch(() => {})
    return this.#room.promise
  }

  #makeRoom(): void {
    if (this.#queue.bytes > this.#settings.queueBytes) return
    this.#room?.resolve()
    this.#room = undefined
  }

  #entry(from: WriterOrigin, chunk: Chunk, options: WriteOptions = {}): NewEntry {
    const problem = checkChunk(chunk)
    if (problem !== undefined) throw new LogError('invalid', `chunk${problem}`)
    const { step, node, model, internal } = options
    const isAsLane = step === undefined && node === undefined && model === undefined
    const origin = isAsLane ? from : { ...from, ...pickDefined({ step, node, model }) }
    return internal ? { origin, chunk, internal } : { origin, chunk }
  }

  #entries(from: WriterOrigin, batch: BatchLike, options?: WriteOptions): NewEntry[] {
    return batch.map(item => {
      if ('type' in item) return this.#entry(from, item, options)
      const { chunk, lane, ...own } = item satisfies Said
      return this.#entry(lane?.origin ?? from, chunk, { ...options, ...own })
    })
  }

  #touch(entries: readonly NewEntry[]): void {
    for (const { origin, chunk } of entries) this.#drafts.touch(origin as WriterOrigin, chunk)
  }

  /** An entry, in as many pieces as it takes where a delta is longer than an entry may be. */
  #pieces(entry: NewEntry): NewEntry[] {
    const delta = deltaOf(entry.chunk)
    const room = Math.floor((this.#settings.maxEntryBytes - OVERHEAD_BYTES) / 6)
    if (delta === undefined || delta.length <= room) return [entry]
    const pieces: NewEntry[] = []
    for (let from = 0; from < delta.length; ) {
      let to = from + room
      // No piece ends inside a character.
      if (to < delta.length && isHighSurrogate(delta.charCodeAt(to - 1))) to--
      pieces.push({ ...entry, chunk: { ...entry.chunk, delta: delta.slice(from, to) } as Chunk })
      from = to
    }
    return pieces
  }

  /** A slot of the queue; throws `too-large` before anything of it is sent (law 6). */
  #slot(entries: readonly NewEntry[], write?: Chunk): Slot {
    const { maxEntryBytes, blobBytes, store } = this.#settings
    const slim = entries.map(entry => extract(entry, blobBytes))
    let bytes = 0
    for (const { entry } of slim) {
      const size = sizeOf(entry)
      if (size > maxEntryBytes) {
        const found = `${size} bytes, at most ${maxEntryBytes} fit`
        throw new LogError('too-large', `chunk ${entry.chunk.type}: ${found}; say it in pieces or keep it elsewhere`)
      }
      bytes += size
    }
    if (bytes > store.maxBatchBytes) {
      throw new LogError('too-large', `a batch of ${bytes} bytes: at most ${store.maxBatchBytes} fit`)
    }
    return {
      entries: slim.map(({ entry }) => entry),
      blobs: slim.flatMap(({ blob }) => blob ?? []),
      bytes,
      isDelta: write !== undefined && deltaOf(write) !== undefined,
      isWord: write !== undefined && isWord(write),
      flight: new Flight(),
    }
  }
}

/** A write under way. */
class Waiting implements Write {
  readonly #flight: Flight
  readonly #room: Promise<void> | undefined

  constructor(flight: Flight, room: Promise<void> | undefined) {
    this.#flight = flight
    this.#room = room
  }

  get appended(): Promise<Written> {
    return this.#flight.promise
  }

  // biome-ignore lint/suspicious/noThenProperty: awaiting a write is its meaning, and a promise for each delta would cost more than the delta
  then<A = void, B = never>(
    done?: ((value: undefined) => A | PromiseLike<A>) | null,
    failed?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return (this.#room ?? Promise.resolve()).then(done as () => A | PromiseLike<A>, failed)
  }
}

function check(ticket: Ticket, entries: readonly NewEntry[]): void {
  const problem = problemOf(ticket, entries)
  if (problem !== undefined) throw new LogError('refused', problem)
}

function accepted(result: AppendResult): Accepted {
  if ('first' in result) return result
  throw new LogError(result.outcome, `the append was answered with ${result.outcome}`)
}

function failure(outcome: 'fenced' | 'regressed', streamId: string): LogError {
  if (outcome === 'fenced') return new LogError('fenced', `another writer has the log ${streamId}`)
  return new LogError(
    'regressed',
    `the log ${streamId} lost entries that were acknowledged: claim it again and read it`,
  )
}

/** The bytes of an entry, or a bound above them where that is cheap and small. */
function sizeOf(entry: NewEntry): number {
  const delta = deltaOf(entry.chunk)
  if (delta !== undefined && delta.length < 1024 && !('providerMetadata' in entry.chunk)) {
    return delta.length * 3 + OVERHEAD_BYTES
  }
  const text = JSON.stringify(entry)
  return Buffer.byteLength(text)
}

const pickDefined = <T extends object>(fields: T): Partial<T> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<T>

const isHighSurrogate = (code: number): boolean => code >= 0xd800 && code <= 0xdbff
