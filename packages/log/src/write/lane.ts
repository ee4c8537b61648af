import type { Chunk, WriterOrigin } from '@millrace/protocol'
import { BOUNDARY_TYPES } from '@millrace/protocol/internal'
import type { Accepted } from '../store/log-store.ts'
import type { Ticket } from '../ticket/ticket.ts'

/** Options of a write. */
export interface WriteOptions {
  /** Step of the entry. @default the step of the lane */
  readonly step?: number
  /** Node of the workflow. @default the node of the lane */
  readonly node?: string
  /** Model that wrote the text. @default the model of the lane */
  readonly model?: string
  /**
   * Internal entries never leave the server (law 10).
   *
   * @default false
   */
  readonly internal?: boolean
}

/** Options of a commit. */
export interface CommitOptions extends WriteOptions {
  /** Whether the commit closes its step. @default false */
  readonly closesStep?: boolean
}

/** A chunk of a batch with options of its own: another lane, another step, or internal. */
export interface BatchItem extends WriteOptions {
  /** The chunk to write. */
  readonly chunk: Chunk
  /** Lane of the chunk. @default the lane that appends the batch */
  readonly lane?: Lane
}

/** The input of a batch. */
export type BatchLike = readonly (Chunk | BatchItem)[]

/** The outcome of a batch: it is in the log, or the ticket has changed and the caller has to decide again. */
export type Committed = Accepted | { readonly outcome: 'moved'; readonly ticket: Ticket }

/** The outcome of a write: the sequences of its append, or dropped by its lane's discard before it was sent. */
export type Written = Accepted | { readonly outcome: 'dropped' }

/** A write in flight. Awaiting it waits for room in the queue; `appended` waits for the outcome. */
export interface Write extends PromiseLike<void> {
  /** Resolves with the outcome of the append. */
  readonly appended: Promise<Written>
}

/** The fields of a discard. */
export type Discard = Omit<Extract<Chunk, { type: 'step-discarded' }>, 'type'>

/** The parts of the writer that a lane uses. */
export interface LaneWriter {
  write(origin: WriterOrigin, chunk: Chunk, options?: WriteOptions): Write
  commit(origin: WriterOrigin, batch: BatchLike, options?: CommitOptions): Promise<Committed>
  fits(origin: WriterOrigin, batch: BatchLike): boolean
  discard(origin: WriterOrigin, discard: Discard): Promise<boolean>
}

/** Chunks that count for the run or the session, so they are public even on an internal lane. */
const COUNTED_TYPES: ReadonlySet<string> = new Set(['step-finish', 'state-snapshot', 'state-patch'])

/** Whether a chunk is internal on an internal lane. */
export const isHidden = ({ type }: Chunk): boolean => !BOUNDARY_TYPES.has(type) && !COUNTED_TYPES.has(type)

/** A line of work of a writer. Entries written here have its origin. */
export class Lane {
  /** Origin of the entries of this lane. */
  readonly origin: WriterOrigin
  /** Whether entries of this lane are internal, except those that every reader of the run must get (law 10). */
  readonly isInternal: boolean
  readonly #writer: LaneWriter

  constructor(writer: LaneWriter, origin: WriterOrigin, isInternal = false) {
    this.#writer = writer
    this.origin = origin
    this.isInternal = isInternal
  }

  /**
   * Appends a chunk soon and in order.
   *
   * @throws LogError at once for a chunk that can never be appended.
   */
  write(chunk: Chunk, options?: WriteOptions): Write {
    return this.#writer.write(this.origin, chunk, this.isInternal ? { internal: isHidden(chunk), ...options } : options)
  }

  /** Appends a batch as a whole, ended by a `checkpoint-created`, and commits this lane's draft. */
  commit(batch: BatchLike, options?: CommitOptions): Promise<Committed> {
    return this.#writer.commit(this.origin, this.#own(batch), options)
  }

  /**
   * Whether a commit of that batch fits the size limits (law 6).
   *
   * @throws LogError if the batch is invalid.
   */
  fits(batch: BatchLike): boolean {
    return this.#writer.fits(this.origin, this.#own(batch))
  }

  /**
   * Discards this lane's draft if the log holds some of it and the run does not have to stop. Returns whether it did.
   */
  discard(discard: Discard): Promise<boolean> {
    return this.#writer.discard(this.origin, discard)
  }

  #own(batch: BatchLike): BatchLike {
    return this.isInternal ? batch.map(item => ('type' in item ? { chunk: item, lane: this } : item)) : batch
  }
}
