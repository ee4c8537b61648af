import type { Chunk, WriterOrigin } from '@millrace/protocol'
import type { Accepted } from '../store/log-store.ts'
import type { Ticket } from '../ticket/ticket.ts'

/** What a write may say beside its chunk. */
export interface WriteOptions {
  readonly step?: number
  readonly node?: string
  readonly model?: string
  /** An internal entry never leaves the server (law 10). */
  readonly internal?: boolean
}

export interface CommitOptions extends WriteOptions {
  /** Whether the commit closes its step. */
  readonly closesStep?: boolean
}

/** A chunk of a batch with options of its own: another lane, another step, or internal. */
export interface BatchItem extends WriteOptions {
  readonly chunk: Chunk
  readonly lane?: Lane
}

/** What a batch is written from. */
export type BatchLike = readonly (Chunk | BatchItem)[]

/** The outcome of a batch: it is in the log, or the ticket is another by now: look at it and decide again. */
export type Committed = Accepted | { readonly outcome: 'moved'; readonly ticket: Ticket }

/** What became of a write: where the append lies that carries it, or that its lane's discard dropped it before it was sent. */
export type Written = Accepted | { readonly outcome: 'dropped' }

/** A write under way: awaiting it waits for room in the queue, `appended` for the outcome. */
export interface Write extends PromiseLike<void> {
  readonly appended: Promise<Written>
}

/** What a discard says. */
export type Discard = Omit<Extract<Chunk, { type: 'step-discarded' }>, 'type'>

/** What a lane needs of its writer. */
export interface LaneWriter {
  write(origin: WriterOrigin, chunk: Chunk, options?: WriteOptions): Write
  commit(origin: WriterOrigin, batch: BatchLike, options?: CommitOptions): Promise<Committed>
  fits(origin: WriterOrigin, batch: BatchLike): boolean
  discard(origin: WriterOrigin, discard: Discard): Promise<boolean>
}

/** What opens, seals and ends lanes and runs is for everybody who reads them (law 10). */
export const PUBLIC: ReadonlySet<string> = new Set([
  'checkpoint-created',
  'step-discarded',
  'rewind',
  'subagent-start',
  'subagent-end',
  'run-started',
  'run-paused',
  'run-resumed',
  'run-finished',
  'executor-superseded',
])

/** What counts for the run or the session, whoever may see what led to it. */
const COUNTED: ReadonlySet<string> = new Set(['step-finish', 'state-snapshot', 'state-patch'])

/** Whether a chunk is internal on a lane that is. */
export const isHidden = ({ type }: Chunk): boolean => !PUBLIC.has(type) && !COUNTED.has(type)

/** One line of work of a writer: what is written here carries its origin. */
export class Lane {
  readonly origin: WriterOrigin
  /** Whether what is said here never leaves the server, but for what everybody who reads the run must see (law 10). */
  readonly isInternal: boolean
  readonly #writer: LaneWriter

  constructor(writer: LaneWriter, origin: WriterOrigin, isInternal = false) {
    this.#writer = writer
    this.origin = origin
    this.isInternal = isInternal
  }

  /** Appends a chunk, soon and in order; throws at once what it would never take. */
  write(chunk: Chunk, options?: WriteOptions): Write {
    return this.#writer.write(this.origin, chunk, this.isInternal ? { internal: isHidden(chunk), ...options } : options)
  }

  /** Appends a batch whole, ended by a `checkpoint-created`: it seals this lane's draft. */
  commit(batch: BatchLike, options?: CommitOptions): Promise<Committed> {
    return this.#writer.commit(this.origin, this.#own(batch), options)
  }

  /** Whether a commit of that batch would be taken, by its size alone (law 6); throws where it is no batch. */
  fits(batch: BatchLike): boolean {
    return this.#writer.fits(this.origin, this.#own(batch))
  }

  /** Takes this lane's draft back, where the log holds some of it and the run is not to stop; tells whether it did. */
  discard(discard: Discard): Promise<boolean> {
    return this.#writer.discard(this.origin, discard)
  }

  #own(batch: BatchLike): BatchLike {
    return this.isInternal ? batch.map(item => ('type' in item ? { chunk: item, lane: this } : item)) : batch
  }
}
