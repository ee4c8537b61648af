// Logs in one file, with the SQLite in Node. An answered write survives the death of the process; with durability
// `full` also a power cut. With `normal`, a power cut may lose the last writes: the log then ends earlier, and its
// writer gets `regressed`. The file must be on a local disk: a write-ahead log needs shared memory between its
// processes.

import { statfsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Cursor, UnprovenCursor } from '@millrace/protocol'
import { checkAppend, checkFork, checkIntegers, checkNames, checkTtl } from '../../store/checks.ts'
import type { HeartbeatThread } from '../../store/heartbeat-thread.ts'
import { LogError } from '../../store/log-error.ts'
import type {
  AppendResult,
  Batch,
  BlobScope,
  BlobUsage,
  ClaimResult,
  Fork,
  ForkResult,
  GuestAppend,
  ListPage,
  LogStore,
  OldestPage,
  Page,
  ReadLimit,
  StoredSnapshot,
  TicketMove,
  Wake,
  WriterAppend,
} from '../../store/log-store.ts'
import { sqliteHeartbeat } from './heartbeat.ts'
import { LeaseObserver } from './lease-observer.ts'
import { LIST_START, parseListToken } from './list.ts'
import { OLDEST_START, parseOldestToken } from './list-oldest.ts'
import type { FileOptions, LogFile } from './log-file.ts'
import { Runner } from './runner.ts'
import { MAX_SEQUENCE } from './schema.ts'
import { SqliteWatchers } from './watchers.ts'

// A batch is written under the file's only write lock and read as a whole. Eight mebibytes block others for some tens
// of milliseconds at most, and fit several times into a reader's page.
const MAX_BATCH_BYTES = 8 * 1024 * 1024

/** Largest default of `walBytes`. */
const MAX_DEFAULT_WAL_BYTES = 64 * 1024 * 1024
/** Share of the free space that the write-ahead log may take by default: its peak is twice as much. */
const FREE_SHARE = 1 / 8
/** Less would run a checkpoint for every few writes. */
const MIN_WAL_BYTES = 64 * 1024

/** Options of `sqliteStore`. */
export interface SqliteOptions {
  /** The file. It is created if it does not exist; its folder must exist. */
  readonly path: string
  /**
   * What an answered write survives: `normal` the death of the process, `full` also a power cut, at the cost of one
   * flush to disk each.
   *
   * @default 'normal'
   */
  readonly durability?: 'normal' | 'full'
  /**
   * Maximum size of the file, in pages of 4096 bytes. A write beyond it rejects with `unavailable`.
   *
   * @default no limit
   */
  readonly maxPages?: number
  /**
   * Size of the write-ahead log at which a checkpoint empties it, in bytes. It may exceed this by the largest writes in
   * flight, and while a reader of another process prevents the checkpoint. Set less for a small disk.
   *
   * @default 67108864, or an eighth of the free space of the disk if that is less
   */
  readonly walBytes?: number
  /**
   * The store's clock, in ms, for tests.
   *
   * @default Date.now
   */
  readonly clock?: () => number
  /**
   * A clock that does not jump, in ms, for tests. It measures for how long this process has seen a lease unchanged.
   *
   * @default `clock` if it is given, otherwise performance.now
   */
  readonly steadyClock?: () => number
}

/**
 * Opens a store in an SQLite file, which any number of processes may share. The file is opened at the first call.
 *
 * @throws LogError `invalid` if an option is invalid.
 */
export function sqliteStore(options: SqliteOptions): LogStore {
  const { path, durability = 'normal', maxPages, clock, steadyClock } = options
  if (path === '' || path === ':memory:' || path.startsWith('file:')) {
    const found = JSON.stringify(path)
    throw new LogError(
      'invalid',
      `path: expected the path of a file, found ${found}: for logs in memory use memoryStore()`,
    )
  }
  if (maxPages !== undefined && !(Number.isSafeInteger(maxPages) && maxPages > 0)) {
    throw new LogError('invalid', `maxPages: expected a whole number above zero, found ${maxPages}`)
  }
  const walBytes = options.walBytes ?? defaultWalBytes(dirname(resolve(path)))
  if (!(Number.isSafeInteger(walBytes) && walBytes >= MIN_WAL_BYTES)) {
    throw new LogError('invalid', `walBytes: expected a whole number from ${MIN_WAL_BYTES}, found ${walBytes}`)
  }
  const file = { path: resolve(path), durability, walBytes, ...(maxPages === undefined ? {} : { maxPages }) }
  return new SqliteStore(file, clock, steadyClock ?? clock ?? (() => performance.now()))
}

/** A write-ahead log that fills the disk cannot be moved to the file, which has to grow for that. */
function defaultWalBytes(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return Math.min(MAX_DEFAULT_WAL_BYTES, Math.max(MIN_WAL_BYTES, Math.floor(bavail * bsize * FREE_SHARE)))
  } catch {
    // The folder is missing, which the first call reports.
    return MAX_DEFAULT_WAL_BYTES
  }
}

class SqliteStore implements LogStore {
  readonly maxBatchBytes = MAX_BATCH_BYTES
  readonly #runner: Runner
  readonly #watchers: SqliteWatchers
  readonly #observer: LeaseObserver
  /** Undefined with a clock of the caller, which a thread cannot read. */
  readonly heartbeat?: HeartbeatThread

  constructor(options: FileOptions, clock: (() => number) | undefined, steadyClock: () => number) {
    this.#observer = new LeaseObserver(steadyClock)
    if (clock === undefined) this.heartbeat = sqliteHeartbeat(options)
    this.#runner = new Runner(options, clock ?? Date.now)
    this.#watchers = new SqliteWatchers(look => this.#runner.peek(look))
  }

  async create(streamId: string, principal: string | null): Promise<boolean> {
    checkNames({ streamId, principal })
    return this.#runner.write('create', { streamId, bytes: 0 }, streamId, principal)
  }

  async append(
    streamId: string,
    batch: Batch,
    by: WriterAppend | GuestAppend,
    ticket?: TicketMove,
  ): Promise<AppendResult> {
    checkAppend(streamId, batch, by, ticket)
    const bytes = Buffer.byteLength(batch.body)
    // A body that is too large is not copied to the worker.
    const body = bytes > MAX_BATCH_BYTES ? undefined : batch.body
    const cost = { streamId, bytes: body === undefined ? 0 : bytes + (ticket?.next.state.length ?? 0) }
    const result = await this.#runner.write('append', cost, streamId, { body, count: batch.count }, by, ticket)
    if (result.outcome === 'appended') this.#watchers.appended(streamId, result.last)
    else if (result.outcome === 'regressed') this.#watchers.changed(streamId)
    return result
  }

  async read(streamId: string, after: Cursor | UnprovenCursor, limit: ReadLimit): Promise<Page | undefined> {
    checkNames({ streamId })
    checkIntegers({ sequence: after.sequence, ...limit })
    return this.#runner.read('read', streamId, after, limit)
  }

  async find(streamId: string, key: string): Promise<{ first: number; last: number } | undefined> {
    checkNames({ streamId, key })
    return this.#runner.read('find', streamId, key)
  }

  watch(streamId: string, wake: Wake): () => void {
    checkNames({ streamId })
    if (this.#runner.isClosed) throw new LogError('closed', 'the store was closed: open another handle')
    return this.#watchers.watch(streamId, wake)
  }

  async claim(streamId: string, owner: string, ttlMs: number, takeover: boolean): Promise<ClaimResult> {
    checkNames({ streamId, owner })
    checkTtl(ttlMs)
    const expired = this.#runner.couldRenew ? this.#observer.expired(streamId) : undefined
    const cost = { streamId, bytes: 0 }
    const { lease, ...result } = await this.#runner.write('claim', cost, streamId, owner, ttlMs, takeover, expired)
    if (result.outcome === 'claimed') this.#watchers.changed(streamId)
    if (result.outcome !== 'busy' || lease === undefined) return result
    const remainingMs = this.#observer.remainingMs(streamId, lease)
    if (result.until > result.clock) return result
    // It has expired by this clock, and was not seen for long enough.
    return { ...result, until: result.clock + Math.max(1, Math.ceil(remainingMs)) }
  }

  async renew(streamId: string, epoch: string, ttlMs: number): Promise<{ until: number; clock: number } | undefined> {
    checkNames({ streamId })
    checkTtl(ttlMs)
    return this.#runner.write('renew', { streamId, bytes: 0 }, streamId, epoch, ttlMs)
  }

  async release(streamId: string, epoch: string): Promise<void> {
    checkNames({ streamId })
    const released = await this.#runner.write('release', { streamId, bytes: 0 }, streamId, epoch)
    if (released) this.#watchers.changed(streamId)
  }

  async due(programs: readonly string[], limit: number): Promise<readonly string[]> {
    for (const program of programs) checkNames({ program })
    checkIntegers({ limit })
    const { due, leased } = await this.#runner.read('due', programs, limit)
    for (const { streamId, lease } of leased) this.#observer.note(streamId, lease)
    return due
  }

  async putSnapshot(streamId: string, snapshot: StoredSnapshot, keep: number): Promise<void> {
    checkNames({ streamId })
    checkIntegers({ sequence: snapshot.sequence, keep })
    checkSequence(snapshot.sequence)
    const cost = { streamId, bytes: Buffer.byteLength(snapshot.body) }
    await this.#runner.write('putSnapshot', cost, streamId, snapshot, keep)
  }

  async getSnapshot(streamId: string, atMost: number): Promise<StoredSnapshot | undefined> {
    checkNames({ streamId })
    checkIntegers({ atMost })
    return this.#runner.read('getSnapshot', streamId, atMost)
  }

  async putBlob(streamId: string, hash: string, data: Uint8Array): Promise<void> {
    checkNames({ streamId, hash })
    await this.#runner.write('putBlob', { streamId, bytes: data.byteLength }, streamId, hash, data)
  }

  async getBlob(streamId: string, hash: string): Promise<Uint8Array | undefined> {
    checkNames({ streamId, hash })
    return this.#runner.read('getBlob', streamId, hash)
  }

  async blobUsage(scope: BlobScope, prefix: string): Promise<BlobUsage> {
    checkNames({ ...scope, prefix })
    return this.#runner.read('blobUsage', scope, prefix)
  }

  async probeWrite(): Promise<void> {
    await this.#runner.write('probeWrite', { streamId: '', bytes: 0 })
  }

  async trim(streamId: string, floor: number, ifVersion?: string): Promise<boolean> {
    checkNames({ streamId })
    checkIntegers({ floor })
    const cost = { streamId, bytes: 0, isLong: this.#isLarge(streamId) }
    const outcome = await this.#runner.write('trim', cost, streamId, floor, ifVersion)
    if (outcome === 'rose') this.#watchers.changed(streamId)
    return outcome !== 'refused'
  }

  async fork(source: string, at: number, target: string, fork: Fork): Promise<ForkResult> {
    checkFork(source, at, target, fork)
    const cost = { streamId: target, bytes: fork.closing?.batch.body.length ?? 0, isLong: this.#isLarge(source) }
    const result = await this.#runner.write('fork', cost, source, at, target, fork)
    if (result === 'forked') this.#watchers.changed(target)
    return result
  }

  async list(principal: string | null, limit: number, after?: string): Promise<ListPage> {
    checkNames({ principal })
    checkIntegers({ limit })
    return this.#runner.read(
      'list',
      principal,
      limit,
      after === undefined ? LIST_START : parseListToken(after, principal),
    )
  }

  async listOldest(limit: number, after?: string): Promise<OldestPage> {
    checkIntegers({ limit })
    return this.#runner.read('listOldest', limit, after === undefined ? OLDEST_START : parseOldestToken(after))
  }

  async remove(streamId: string, ifVersion?: string): Promise<boolean> {
    checkNames({ streamId })
    const cost = { streamId, bytes: 0, isLong: this.#isLarge(streamId) }
    const removed = await this.#runner.write('remove', cost, streamId, ifVersion)
    if (removed) {
      this.#watchers.changed(streamId)
      this.#runner.erase()
    }
    return removed
  }

  async restored(): Promise<number> {
    const count = await this.#runner.write('restored', { streamId: '', bytes: 0, isLong: true })
    this.#watchers.allChanged()
    return count
  }

  async close(): Promise<void> {
    const closed = [this.#runner.close(), this.heartbeat?.close()]
    this.#watchers.close()
    await Promise.all(closed)
  }

  #isLarge(streamId: string): boolean {
    return this.#runner.peek(file => isSmall(file, streamId)) !== true
  }
}

function checkSequence(sequence: number): void {
  if (sequence <= MAX_SEQUENCE) return
  throw new LogError('invalid', `sequence: expected a whole number up to ${MAX_SEQUENCE}, found ${sequence}`)
}

/** Size up to which a log is copied or removed within a millisecond or two, in bytes, with the cost of its rows. */
const MAX_SMALL_LOG_BYTES = 256 * 1024

// Each row has a cost besides its bytes. Reads no more rows than are enough to make a log large.
const LOG_SIZE = `
WITH s AS (SELECT id, id << 32 AS low, (id << 32) | 0xffffffff AS high FROM streams WHERE name = ?)
SELECT sum(size) FROM (
  SELECT * FROM (SELECT octet_length(body) + 1024 AS size FROM s, batches WHERE place BETWEEN low AND high LIMIT 257)
  UNION ALL SELECT * FROM (SELECT 1024 FROM s, keys WHERE stream = id LIMIT 257)
  UNION ALL SELECT * FROM (SELECT octet_length(body) + 16384 FROM s, snapshots WHERE place BETWEEN low AND high LIMIT 17)
  UNION ALL SELECT * FROM (
    SELECT octet_length(data) + 16384 FROM s JOIN blobs ON stream = s.id JOIN contents ON contents.id = content LIMIT 17)
)`

/** Whether a log is small enough to be copied, trimmed or removed synchronously. */
function isSmall(file: LogFile, streamId: string): boolean {
  return (file.row<[number | null]>(LOG_SIZE, streamId)?.[0] ?? 0) <= MAX_SMALL_LOG_BYTES
}
