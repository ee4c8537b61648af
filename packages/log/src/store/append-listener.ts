import type { Cursor } from '@millrace/protocol'
import type { DecodedBatch } from './decoded-batch.ts'

/** An append of a writer in this process that is in the log. */
export interface OwnAppend {
  /** The last entry of the writer's append before it. */
  readonly after: Cursor
  /** Its last entry. */
  readonly cursor: Cursor
  /** Its batch; undefined if entries of guests precede it, or if it was repeated and its timestamp is not known. */
  readonly batch: DecodedBatch | undefined
  /** Whether the writer knows all entries before it, so that no other process has changed the ticket unnoticed. */
  readonly isTicketKnown: boolean
  /** The text of the ticket after it, if it changed the ticket. */
  readonly ticketText: string | undefined
}

/** Learns of the appends of a writer in this process, so that they need not be read back. */
export interface AppendListener {
  /** An append is sent. Until it is settled, wake-ups may be its own. */
  sending(): void
  /** The append in flight is settled. `append` is undefined if it is not known to be in the log. Must not throw. */
  settled(append: OwnAppend | undefined): void
}
