// What a store must do, and all that it is asked to know. It keeps batches as opaque text, a ticket as a version, a text and two columns, and
// moves them together, atomically. Everything else (entries, the meaning of a ticket, coalescing, readers) is the StreamManager's, once for all
// stores. The contract suite (`@millrace/log/contract`) holds a store to this page.
//
// Names (stream ids, keys, owners, programs, principals, hashes) are opaque text, of well-formed Unicode. Bodies and a ticket's text hold no U+0000,
// as no JSON does. Counts, sequences and limits are whole numbers from 0 to 2^53 - 1, and no time is beyond that. A call with another name or number
// rejects with a `LogError` of code `invalid`, in every store.
//
// A mark is what a cursor proves a place by: the epoch of the writer's append that wrote the entry there, or the nonce of the guest's.

import type { Cursor, TruncatedFrame, UnprovenCursor } from '@millrace/protocol'

/** What one append carries: the JSON text of an array with `count` elements, which the store does not look into. */
export interface Batch {
  readonly body: string
  /** At least 1. */
  readonly count: number
}

/** A batch in its place: `count` entries from `first` to `last`, of one time and one mark. */
export interface StoredBatch {
  readonly first: number
  readonly last: number
  /** The store's clock at the append; never before that of the batch before it. */
  readonly timestamp: number
  readonly mark: string
  /** May hold more elements than the sequences say, where a fork cut the batch: those after `last` are not of this log. */
  readonly body: string
}

/** An append of the log's writer. */
export interface WriterAppend {
  /** From the writer's claim. */
  readonly epoch: string
  /** 1 for the first append under this epoch, then one more each; an append that is sent again has the same. One is in flight at a time. */
  readonly counter: number
  /** The last entry that this writer knows the log to hold: of its latest acknowledged append, or the head that it read after its claim. */
  readonly lastAcked: Cursor
}

/** An append of a guest. */
export interface GuestAppend {
  /** Who repeats an accepted append by its key is told so. */
  readonly key: string
  /** Whether the key outlives the entry when that is trimmed. */
  readonly keep: boolean
  /** The mark of its entries. */
  readonly nonce: string
}

/** When somebody should drive a log. */
export interface Due {
  /** `now`, or a time by the store's clock; null for never. */
  readonly at: number | 'now' | null
  /** The one program that may; null for every driver. */
  readonly program: string | null
}

/** The ticket as a store sees it. */
export interface TicketRecord {
  readonly state: string
  readonly due: Due
}

/** Moves the ticket with an append, if it still has the version on which that was decided. */
export interface TicketMove {
  readonly ifVersion: string
  readonly next: TicketRecord
}

/** The batch is in the log, now or since its first time. */
export interface Accepted {
  readonly outcome: 'appended' | 'duplicate'
  readonly first: number
  readonly last: number
  /** The store's clock now, or the timestamp of the batch. */
  readonly clock: number
}

/**
 * What became of an append, in the order in which it is looked at: `fenced` (not the log's epoch, or an append older than the one remembered),
 * `duplicate` (the key, or the epoch's latest counter, is there), `regressed` (the log does not hold `lastAcked`; it has now a new incarnation and
 * no epoch), `moved` (the ticket has another version), `too-large` (more bytes than `maxBatchBytes`). Only an accepted and a regressed append leave a trace.
 */
export type AppendResult = Accepted | { readonly outcome: 'fenced' | 'regressed' | 'moved' | 'too-large' }

/** What a log is, apart from its entries. */
export interface LogHead {
  readonly incarnation: string
  /** The last sequence; 0 for an empty log. */
  readonly head: number
  /** The mark of the entry at `head`; `0` for an empty log. */
  readonly mark: string
  /** The last sequence that was trimmed; 0 for none. */
  readonly floor: number
  /**
   * The cursor of the last entry of the append that last moved the ticket, `sequence.incarnation.mark` with the incarnation of that time; for a ticket that never moved
   * `0.incarnation.0` with that of the log's creation. A fork's is the cursor of its head. After a trim that raised the floor, until the ticket moves, it is
   * `head.incarnation.mark~floor` as they are then: text that no other version is.
   */
  readonly version: string
  /** The ticket's text; empty for one that never moved. */
  readonly ticket: string
  readonly principal: string | null
  readonly createdAt: number
  /** When the ticket last moved, or the log was created. */
  readonly touchedAt: number
  /** The lease, as long as nobody released it; it has run out where `until <= clock`. */
  readonly lease: { readonly owner: string; readonly until: number } | null
  readonly clock: number
}

/** Why a cursor does not match what the log holds; where several do: `incarnation`, `past-head`, `below-floor`, `epoch`. */
export type Truncation = NonNullable<TruncatedFrame['reason']>

/** A piece of a log, read at one position. */
export interface Page extends LogHead {
  /** The batches whose `last` is after the cursor, in order, whole: the first may begin at or before it, or below the floor. Empty if `truncated`. */
  readonly batches: readonly StoredBatch[]
  readonly truncated: Truncation | null
}

/** How much to read: at most so many batches, and none after the one with which the bodies reach about so many bytes. Zero batches read the head alone. */
export interface ReadLimit {
  readonly batches: number
  readonly bytes: number
}

export type ClaimResult =
  | { readonly outcome: 'claimed'; readonly epoch: string; readonly until: number; readonly clock: number }
  | { readonly outcome: 'busy'; readonly owner: string; readonly until: number; readonly clock: number }
  | { readonly outcome: 'absent' }

/** A view at a place of the log. */
export interface StoredSnapshot {
  readonly sequence: number
  /** The mark of the entry there. */
  readonly mark: string
  /** Of the fold that made it (law 12). */
  readonly version: number
  readonly body: string
}

/** A line of a list of logs. */
export interface Listed {
  readonly streamId: string
  readonly head: number
  readonly ticket: string
  readonly createdAt: number
  readonly touchedAt: number
}

export interface ListPage {
  readonly streams: readonly Listed[]
  /** Where the next page goes on; null at the end. */
  readonly next: string | null
}

/** What a fork gets that its source does not have. */
export interface Fork {
  readonly principal: string | null
  /** As it stands after the closing batch. */
  readonly ticket: TicketRecord
  /** What is appended to the copy, so that nobody takes what was open in the source for something to go on with. */
  readonly closing: { readonly batch: Batch; readonly nonce: string } | null
}

export type ForkResult = 'forked' | 'absent' | 'exists' | 'out-of-range'

/**
 * A place that keeps logs. Calls may be made at any time and from any number of processes; each is atomic. A call that cannot be answered
 * rejects with a `LogError` of code `unavailable`: it may have happened or not. An answer is durable as far as the store's page says.
 */
export interface LogStore {
  /** The largest body of one append, in bytes of UTF-8. */
  readonly maxBatchBytes: number

  /** Makes an empty log with an incarnation of its own, of a principal or of nobody; false if there is one already, which stays as it is. */
  create(streamId: string, principal: string | null): Promise<boolean>
  /** Appends a whole batch or nothing, and moves the ticket with it (laws 1, 4, 5). To a log that is not there: `fenced` for a writer, `moved` for a guest. */
  append(streamId: string, batch: Batch, by: WriterAppend | GuestAppend, ticket?: TicketMove): Promise<AppendResult>
  /** Reads what lies after a cursor, and proves the cursor (law 2); undefined where there is no such log. */
  read(streamId: string, after: Cursor | UnprovenCursor, limit: ReadLimit): Promise<Page | undefined>
  /** The sequences that an accepted guest's append got. */
  find(streamId: string, key: string): Promise<{ readonly first: number; readonly last: number } | undefined>
  /**
   * Calls `wake` after whatever changes what a read shows (an append, also a regressed one, a claim or release, a trim, a fork into it, a removal, a restoration), by whatever process, until
   * stopped: an edge trigger that may be spurious or late by a second, never missed. What happened before the call of `watch` may not wake; `wake` does not throw.
   * `close` wakes for the last time, when every call of the handle is `closed` already: who waits reads, and is told.
   */
  watch(streamId: string, wake: () => void): () => void

  /** Takes the log for `ttl` milliseconds under a new epoch, which fences every other; `busy` under a live lease of whomever, unless `takeover`. */
  claim(streamId: string, owner: string, ttl: number, takeover: boolean): Promise<ClaimResult>
  /** Makes the lease last from now on for `ttl`, run out or not, if the epoch is still the log's and was not released; undefined otherwise. */
  renew(
    streamId: string,
    epoch: string,
    ttl: number,
  ): Promise<{ readonly until: number; readonly clock: number } | undefined>
  /** Ends the lease of this epoch, and the epoch with it; of another epoch it does nothing. */
  release(streamId: string, epoch: string): Promise<void>
  /** Logs without a live lease whose ticket is due now, to one of these programs or to every driver; those due longest first. */
  due(programs: readonly string[], limit: number): Promise<readonly string[]>

  /**
   * Keeps a snapshot, in place of one at the same sequence, and of all the newest `keep` and the newest at or below the floor, without which nobody could tell what was
   * trimmed. A log that is not there keeps nothing.
   */
  putSnapshot(streamId: string, snapshot: StoredSnapshot, keep: number): Promise<void>
  /** The newest snapshot at or below a sequence. */
  getSnapshot(streamId: string, atMost: number): Promise<StoredSnapshot | undefined>
  /** Keeps bytes under their hash, for as long as the log. A log that is not there keeps nothing. */
  putBlob(streamId: string, hash: string, data: Uint8Array): Promise<void>
  getBlob(streamId: string, hash: string): Promise<Uint8Array | undefined>

  /**
   * Drops the entries up to `floor`, which only rises and never passes the head, and their keys but the kept ones, if the ticket has this version where one is given;
   * false, and nothing is done, if there is no such log, or another version. A trim that raises the floor gives the ticket another version, so that an append which was
   * decided on what is gone is `moved`; one that does not changes nothing.
   */
  trim(streamId: string, floor: number, ifVersion?: string): Promise<boolean>
  /**
   * Makes a log whose entries up to `at`, keys, snapshots and blobs are a copy of another's, followed by a closing batch if there is one, with the given ticket, no
   * lease, no epoch and an incarnation of its own; whole or not at all. `out-of-range` if `at` is above the head or below the floor.
   */
  fork(source: string, at: number, target: string, fork: Fork): Promise<ForkResult>
  /** The logs of a principal (null: of nobody), those touched last first; `after` is an earlier page's `next`. */
  list(principal: string | null, limit: number, after?: string): Promise<ListPage>
  /** Removes all there is of a log, if its ticket has this version where one is given; false if there was none, or another version. */
  remove(streamId: string, ifVersion?: string): Promise<boolean>
  /** After a backup was put back: gives every log a new incarnation, and ends all leases and epochs. Tells how many logs there are. */
  restored(): Promise<number>
  /** Lets go of all that this handle holds, nothing of the logs; who watches through it is woken once, and never again. */
  close(): Promise<void>
}
