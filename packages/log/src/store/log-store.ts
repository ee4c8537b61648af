// The interface of a store. It keeps batches as opaque text and a ticket as a version, a text and two columns, and
// changes both atomically. Everything else (entries, the meaning of a ticket, coalescing, readers) is implemented
// once, in the StreamManager. The contract suite (`@millrace/log/contract`) tests a store against this page.
//
// Names (stream ids, keys, owners, programs, principals, hashes) are opaque, well-formed Unicode text. Bodies and a
// ticket's text hold no U+0000, as no JSON does. Counts, sequences and limits are integers from 0 to 2^53 - 1; times
// do not exceed 2^53 - 1 either. A call with any other name or number rejects with a `LogError` of code `invalid`, in
// every store.
//
// A mark proves a position in a cursor: the epoch of the writer's append that wrote the entry, or the nonce of the
// guest's.

import type { Cursor, TruncatedFrame, UnprovenCursor } from '@millrace/protocol'
import type { Heartbeat } from './heartbeat.ts'

export type { Heartbeat, HeldLease, KeptLease } from './heartbeat.ts'

/** The content of one append: the JSON text of an array with `count` elements. The store does not parse it. */
export interface Batch {
  /** JSON text of an array. */
  readonly body: string
  /** At least 1. */
  readonly count: number
}

/** A batch with its sequences: the entries from `first` to `last`, with one timestamp and one mark. */
export interface StoredBatch {
  /** Sequence of the first entry. */
  readonly first: number
  /** Sequence of the last entry. */
  readonly last: number
  /** The store's clock at the append, in ms. Never lower than that of the batch before it. */
  readonly timestamp: number
  /** Epoch of the writer, or nonce of the guest. Cursors to these entries contain it. */
  readonly mark: string
  /**
   * JSON text of an array. It has more elements than the batch has sequences if a fork ended inside the batch: elements
   * after `last` are not part of this log.
   */
  readonly body: string
}

/** An append of the log's writer. */
export interface WriterAppend {
  /** From the writer's claim. */
  readonly epoch: string
  /**
   * 1 for the first append under this epoch, then incremented by 1. A retried append keeps its counter. One append is
   * in flight at a time.
   */
  readonly counter: number
  /**
   * The last entry that this writer knows the log to hold: that of its latest acknowledged append, or the head that
   * it read after its claim.
   */
  readonly lastAcked: Cursor
}

/** An append of a guest. */
export interface GuestAppend {
  /** Idempotency key: a repeated append with this key is answered with `duplicate`. */
  readonly key: string
  /** Whether the key is kept when the entry is trimmed. */
  readonly keep: boolean
  /** The mark of its entries. */
  readonly nonce: string
}

/** When a log needs a driver. */
export interface Due {
  /** `now`, or a time by the store's clock in ms; null for never. */
  readonly at: number | 'now' | null
  /** The only program that may drive it; null for every driver. */
  readonly program: string | null
}

/** The ticket as a store sees it. */
export interface TicketRecord {
  /** Text of the ticket. The store does not parse it. */
  readonly state: string
  /** When the log needs a driver, and which one. */
  readonly due: Due
}

/** Changes the ticket together with an append, if the ticket still has the version on which the append was decided. */
export interface TicketMove {
  /** Version of the ticket on which the append was decided. */
  readonly ifVersion: string
  /** The ticket after the append. */
  readonly next: TicketRecord
}

/** The batch is in the log: it was appended now, or earlier by the same key or counter. */
export interface Accepted {
  /** `appended`: this call appended the batch. `duplicate`: an earlier call did. */
  readonly outcome: 'appended' | 'duplicate'
  /** Sequence of the first entry of the batch. */
  readonly first: number
  /** Sequence of the last entry of the batch. */
  readonly last: number
  /** `appended`: the timestamp of the batch. `duplicate`: that, or the store's clock now. */
  readonly clock: number
}

/**
 * The result of an append. The store checks in this order: `fenced` (another epoch holds the log, or the append is
 * older than the last one), `duplicate` (the log has the key or the epoch's latest counter), `regressed` (the log
 * does not hold `lastAcked`; it gets a new incarnation and no epoch), `moved` (the ticket has another version),
 * `too-large` (more than `maxBatchBytes`). Only accepted and regressed appends change the log.
 */
export type AppendResult = Accepted | { readonly outcome: 'fenced' | 'regressed' | 'moved' | 'too-large' }

/** The state of a log without its entries. */
export interface LogHead {
  /** Identity of the log. It changes when continuity cannot be proven. */
  readonly incarnation: string
  /** The last sequence; 0 for an empty log. */
  readonly head: number
  /** The mark of the entry at `head`; `0` for an empty log. */
  readonly mark: string
  /** The last sequence that was trimmed; 0 for none. */
  readonly floor: number
  /**
   * The cursor of the last entry of the append that last changed the ticket, `sequence.incarnation.mark` with the
   * incarnation at that time. For a ticket that never changed: `0.incarnation.0` with the incarnation at the log's
   * creation. For a fork: the cursor of its head. After a trim that raised the floor, until the ticket changes:
   * `head.incarnation.mark~floor` with the values at the trim. No two versions are the same text.
   */
  readonly version: string
  /** The ticket's text; empty for a ticket that never changed. */
  readonly ticket: string
  /** Owner of the log; null for none. */
  readonly principal: string | null
  /** Time of creation by the store's clock, in ms. */
  readonly createdAt: number
  /** When the ticket last changed, or the log was created. */
  readonly touchedAt: number
  /** The lease until it is released. It has expired where `until <= clock`. */
  readonly lease: { readonly owner: string; readonly until: number } | null
  /** The store's clock at the read, in ms. */
  readonly clock: number
}

/**
 * Why a cursor does not match the log. If several reasons apply, the first in this order: `incarnation`, `past-head`,
 * `below-floor`, `epoch`.
 */
export type Truncation = NonNullable<TruncatedFrame['reason']>

/** A part of a log, read at one moment. */
export interface Page extends LogHead {
  /**
   * The complete batches that end after the cursor, in order. The first may begin at or before the cursor, or below
   * the floor. Empty if `truncated`.
   */
  readonly batches: readonly StoredBatch[]
  /** Why the cursor does not match the log; null if it does. */
  readonly truncated: Truncation | null
}

/**
 * Limits of one read: at most `batches` batches, and none after the batch with which the bodies reach about `bytes`
 * bytes. Zero batches read only the head.
 */
export interface ReadLimit {
  /** Maximum number of batches. */
  readonly batches: number
  /** Approximate maximum size of the bodies, in bytes. */
  readonly bytes: number
}

/** Result of a claim: the claim, or the owner that holds a valid lease. */
export type ClaimResult =
  | { readonly outcome: 'claimed'; readonly epoch: string; readonly until: number; readonly clock: number }
  | { readonly outcome: 'busy'; readonly owner: string; readonly until: number; readonly clock: number }
  | { readonly outcome: 'absent' }

/** A view at a sequence of the log. */
export interface StoredSnapshot {
  /** The last sequence that the view contains. */
  readonly sequence: number
  /** The mark of the entry at `sequence`. */
  readonly mark: string
  /** The version of the fold that made it (law 12). */
  readonly version: number
  /** JSON text of the view. */
  readonly body: string
}

/** One log in a list. */
export interface Listed {
  /** Id of the log. */
  readonly streamId: string
  /** The last sequence; 0 for an empty log. */
  readonly head: number
  /** The ticket's text; empty for a ticket that never changed. */
  readonly ticket: string
  /** Time of creation by the store's clock, in ms. */
  readonly createdAt: number
  /** Time at which the ticket last changed, or the log was created, in ms. */
  readonly touchedAt: number
}

/** One log, or all logs of a principal (null: logs without one). */
export type BlobScope = { readonly streamId: string } | { readonly principal: string | null }

/** How much blobs occupy. */
export interface BlobUsage {
  /** Number of blobs. */
  readonly count: number
  /** Their total size, in bytes. */
  readonly bytes: number
}

/** A page of a list of logs. */
export interface ListPage {
  /** The logs of the page, the most recently changed first. */
  readonly streams: readonly Listed[]
  /** The cursor of the next page; null at the end. */
  readonly next: string | null
}

/** One log in a page of the least recently touched logs. */
export interface OldestLog extends Listed {
  /** The last sequence that was trimmed; 0 for none. */
  readonly floor: number
  /** The lease until it is released. It has expired where `until <= clock`. */
  readonly lease: LogHead['lease']
}

/** A page of the logs of all principals. */
export interface OldestPage {
  /** The logs of the page, the least recently touched first. */
  readonly streams: readonly OldestLog[]
  /** The cursor of the next page; null at the end. */
  readonly next: string | null
  /** The store's clock at the read, in ms. */
  readonly clock: number
}

/** The values of a fork that differ from its source. */
export interface Fork {
  /** Owner of the fork; null for none. */
  readonly principal: string | null
  /** The ticket after the closing batch. */
  readonly ticket: TicketRecord
  /** The batch that closes open runs and requests of the source in the copy, so that no driver continues them there. */
  readonly closing: { readonly batch: Batch; readonly nonce: string } | null
}

/** Result of a fork. */
export type ForkResult = 'forked' | 'absent' | 'exists' | 'out-of-range'

/** Tells of a change of a log. `head` is the last sequence of the appends that caused it; undefined for other changes. */
export type Wake = (head?: number) => void

/**
 * Storage of logs. Calls may be made at any time and from any number of processes; each is atomic. A call that cannot
 * be answered rejects with a `LogError` of code `unavailable`: the call may have taken effect. How durable an answer is
 * depends on the store; see its page.
 */
export interface LogStore {
  /** The largest body of one append, in bytes of UTF-8. */
  readonly maxBatchBytes: number

  /**
   * Creates an empty log with a new incarnation, for a principal or for none (null). Returns false, and changes
   * nothing, if it exists.
   */
  create(streamId: string, principal: string | null): Promise<boolean>
  /**
   * Appends the whole batch or nothing, and changes the ticket with it (laws 1, 4, 5). For a missing log it returns
   * `fenced` to a writer and `moved` to a guest.
   */
  append(streamId: string, batch: Batch, by: WriterAppend | GuestAppend, ticket?: TicketMove): Promise<AppendResult>
  /** Reads the batches after a cursor, and verifies the cursor (law 2). Returns undefined if the log does not exist. */
  read(streamId: string, after: Cursor | UnprovenCursor, limit: ReadLimit): Promise<Page | undefined>
  /** The sequences of an accepted guest append, by its key. */
  find(streamId: string, key: string): Promise<{ readonly first: number; readonly last: number } | undefined>
  /**
   * Calls `wake` after every change that a read can show, by any process: an append (also a regressed one), a claim
   * or release, a trim, a fork into it, a removal, a restore. It is an edge trigger: it may be spurious or up to a
   * second late, but never missed. Changes before the call of `watch` may not wake. `wake` must not throw. `close`
   * wakes once more, when every call of the handle already rejects with `closed`, so that waiting readers find out.
   *
   * Where only appends caused the wake, the store may pass the last sequence that they wrote, so that a process that
   * knows these entries need not read them.
   *
   * Returns the function that stops it.
   */
  watch(streamId: string, wake: Wake): () => void

  /**
   * Takes the log for `ttlMs` ms under a new epoch, which fences every other. Returns `busy` while any owner has a live
   * lease, unless `takeover`. A store without a clock of its own may also return `busy` under an expired lease, until this
   * handle has seen it unchanged for its duration.
   */
  claim(streamId: string, owner: string, ttlMs: number, takeover: boolean): Promise<ClaimResult>
  /**
   * Extends the lease to `ttlMs` ms from now, even an expired one, if the log still has this epoch and it was not
   * released. Otherwise undefined.
   */
  renew(
    streamId: string,
    epoch: string,
    ttlMs: number,
  ): Promise<{ readonly until: number; readonly clock: number } | undefined>
  /**
   * The heartbeat of this handle. It renews leases while the event loop is blocked, in a thread with its own connection.
   * `close` ends it. Without a heartbeat the event loop renews the leases, and they are longer.
   */
  readonly heartbeat?: Heartbeat
  /** Ends this epoch and its lease. Does nothing for another epoch. */
  release(streamId: string, epoch: string): Promise<void>
  /**
   * Returns the logs without a live lease that are due now for one of these programs, or for every driver. The longest
   * due come first.
   */
  due(programs: readonly string[], limit: number): Promise<readonly string[]>

  /**
   * Stores a snapshot and replaces one at the same sequence. Keeps the newest `keep` snapshots and the newest at or
   * below the floor, which holds the content of the trimmed entries. Does nothing for a missing log.
   */
  putSnapshot(streamId: string, snapshot: StoredSnapshot, keep: number): Promise<void>
  /** The newest snapshot at or below a sequence. */
  getSnapshot(streamId: string, atMost: number): Promise<StoredSnapshot | undefined>
  /** Stores bytes under their hash for the life of the log. Does nothing for a missing log. */
  putBlob(streamId: string, hash: string, data: Uint8Array): Promise<void>
  /** Returns the bytes of a blob, or undefined if the log does not have it. */
  getBlob(streamId: string, hash: string): Promise<Uint8Array | undefined>
  /**
   * Measures the blobs whose hash begins with `prefix`, without reading their bytes. Hashes have at most 256
   * characters. A blob that a fork shares with its source counts in both. A missing log has no blobs.
   *
   * A store without this method gives a server no quota for uploads.
   */
  blobUsage?(scope: BlobScope, prefix: string): Promise<BlobUsage>

  /**
   * Drops the entries up to `floor`, and their keys except the kept ones. The floor only rises and never passes the
   * head. Returns false, and changes nothing, if the log is missing or its ticket has another version than
   * `ifVersion`. A trim that raises the floor gives the ticket a new version, so that an append decided on the
   * trimmed entries is `moved`.
   */
  trim(streamId: string, floor: number, ifVersion?: string): Promise<boolean>
  /**
   * Creates a log with copies of another log's entries up to `at`, keys, snapshots and blobs, followed by the closing
   * batch if there is one. It has the given ticket, no lease, no epoch and a new incarnation. Atomic. Returns
   * `out-of-range` if `at` is above the head or below the floor.
   */
  fork(source: string, at: number, target: string, fork: Fork): Promise<ForkResult>
  /**
   * The logs of a principal (null: logs without one), last touched first. `after` is the `next` of the page before. It
   * goes to clients, so it must not tell whether the id of the page's last log is qualified with its owner.
   */
  list(principal: string | null, limit: number, after?: string): Promise<ListPage>
  /**
   * The logs of all principals, least recently touched first. `after` is the `next` of the page before. Logs that were
   * touched at the same time have a fixed order. A log that is touched between two pages moves to the end, so it may
   * be in both. A page reads about as many logs as it returns, however many the store has.
   */
  listOldest(limit: number, after?: string): Promise<OldestPage>
  /**
   * Lets the store remove the log `ms` ms from now, also when no process uses the store any more. Returns false, and
   * changes nothing, if the log is missing, has an epoch, or if its ticket has another version than `ifVersion`.
   *
   * A claim ends the expiry. So does an append that makes the log due `now`, until one makes it due at another time or
   * never. Every other append that moves the ticket restarts the time. A fork has no expiry. An expiry wakes no
   * watchers.
   *
   * Only for stores whose server can remove data by itself.
   */
  expireAfter?(streamId: string, ms: number, ifVersion: string): Promise<boolean>
  /**
   * Removes a log, if its ticket has the version `ifVersion` where given. Returns false if the log is missing or has
   * another version.
   */
  remove(streamId: string, ifVersion?: string): Promise<boolean>
  /**
   * Call it after restoring a backup: gives every log a new incarnation, and ends all leases and epochs. Returns the
   * number of logs.
   */
  restored(): Promise<number>
  /**
   * Writes some kilobytes and removes them: rejects with `unavailable` where appends do, for example on a full disk or
   * a read-only server. Changes no log.
   *
   * A store without this method is ready if it can be read.
   */
  probeWrite?(): Promise<void>
  /**
   * Closes this handle and frees its resources; the logs stay. Watchers of the handle are woken once more, then never
   * again.
   */
  close(): Promise<void>
}
