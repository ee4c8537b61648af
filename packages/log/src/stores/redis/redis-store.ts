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
import { randomName } from '../../store/names.ts'
import { APPEND, appendArguments, appendResult, PlainAppends } from './append.ts'
import {
  type ClientSettings,
  Connection,
  plainSettingsOf,
  type RedisDriver,
  type Reply,
  type Server,
  serverAt,
  serverOf,
} from './connection.ts'
import { failure } from './failure.ts'
import { fork } from './fork.ts'
import { redisHeartbeat } from './heartbeat.ts'
import { Indexes } from './indexes.ts'
import { decodeName, encodeName, encodeOptional, Keys, markOr, type Script } from './keys.ts'
import { dueOf, listOf } from './listing.ts'
import { oldestOf } from './oldest.ts'
import { readPage } from './page.ts'
import * as scripts from './scripts.ts'
import { RedisWatchers } from './watchers.ts'

const MAX_BATCH_BYTES = 8 * 1024 * 1024
/** How many logs `blobUsage` measures at once. */
const USAGE_PAGE_SIZE = 100
/** Size of the value that a probe writes, in bytes, and how long it stays, in ms. */
const PROBE_BYTES = 4 * 1024
const PROBE_MS = 1000
/** How many logs `restored` handles at once. */
const RESTORE_PAGE_SIZE = 100

/** Options of `redisStore`. */
export interface RedisOptions {
  /**
   * `redis://user:password@host:port/database`, or `rediss://` for TLS: one server of version 7 or later. The
   * server's settings decide what an acknowledged append survives:
   *
   * - `appendonly no`: entries of the last save. A restart loses all later ones.
   * - `appendonly yes`, `appendfsync everysec`: an orderly shutdown. A crash or a power cut may lose the last second,
   * or two while the disk is slow.
   * - `appendonly yes`, `appendfsync always`: also a crash and a power cut, if the disk honours flushes.
   * - A failover to a replica may lose entries that the replica had not received, with any setting: replication is
   * asynchronous.
   *
   * Entries are lost from the end, and the loss is detected: a writer with more acknowledged entries gets
   * `regressed`, a reader that had read more gets `truncated`. After restoring an older copy of the data, call
   * `restored`. The server must not evict keys (`maxmemory-policy noeviction`).
   * @default none
   */
  readonly url?: string
  /**
   * A client of the `redis` package instead of a URL. The store opens its own connections with the client's settings,
   * and leaves the client untouched.
   * @default none
   */
  readonly client?: ClientSettings
  /**
   * Prefix of all keys and channels, without braces.
   *
   * @default 'millrace:'
   */
  readonly prefix?: string
  /**
   * Timeout of a connection or a command, in ms. After it the call rejects with `unavailable`.
   *
   * @default 5000
   */
  readonly timeoutMs?: number
}

/**
 * Opens a store in Redis with the given exports of the `redis` package, so that an application can load the package
 * on demand.
 */
export function createRedisStore(
  driver: RedisDriver,
  { url = '', client, prefix = 'millrace:', timeoutMs = 5_000 }: RedisOptions,
): LogStore {
  const server = client ? serverOf(driver, client, timeoutMs) : serverAt(driver, url, timeoutMs)
  const settings = () => (client ? plainSettingsOf(client) : { url })
  return new RedisStore(server, new Keys(prefix), redisHeartbeat(settings, { prefix, timeoutMs }))
}

class RedisStore implements LogStore {
  readonly maxBatchBytes = MAX_BATCH_BYTES
  readonly #server: Server
  readonly #keys: Keys
  readonly #connection: Connection
  readonly #plain: PlainAppends
  readonly #indexes: Indexes
  readonly #watchers: RedisWatchers
  readonly #inFlight = new Set<Promise<unknown>>()
  readonly heartbeat: HeartbeatThread
  #closed = false

  constructor(server: Server, keys: Keys, heartbeat: HeartbeatThread) {
    this.#server = server
    this.heartbeat = heartbeat
    this.#keys = keys
    this.#connection = new Connection(server)
    this.#plain = new PlainAppends(this.#connection, keys, {
      appendChecked: (streamId, batch, by) => this.#track(this.#append(streamId, batch, by, undefined, false)),
      track: group => void this.#track(group),
      failure: error => failure(server, error),
      refusal: message => failure(server, new server.driver.ErrorReply(message)),
    })
    this.#indexes = new Indexes(this.#connection, keys, work => void this.#track(work.catch(() => {})))
    this.#watchers = new RedisWatchers(server)
  }

  async create(streamId: string, principal: string | null): Promise<boolean> {
    checkNames({ streamId, principal })
    return this.#call(async () => {
      const [created] = await this.#change(streamId, scripts.CREATE, [randomName(), encodeOptional(principal)])
      return created === 1
    })
  }

  async append(
    streamId: string,
    batch: Batch,
    by: WriterAppend | GuestAppend,
    ticket?: TicketMove,
  ): Promise<AppendResult> {
    checkAppend(streamId, batch, by, ticket)
    const isLarge = batch.body.length * 3 > MAX_BATCH_BYTES && Buffer.byteLength(batch.body) > MAX_BATCH_BYTES
    if (ticket === undefined && !isLarge && 'epoch' in by && !this.#closed) {
      return this.#plain.append(streamId, batch, by)
    }
    return this.#call(() => this.#append(streamId, batch, by, ticket, isLarge))
  }

  async #append(
    streamId: string,
    batch: Batch,
    by: WriterAppend | GuestAppend,
    ticket: TicketMove | undefined,
    isLarge: boolean,
  ): Promise<AppendResult> {
    const logKeys = Object.values(this.#keys.log(streamId))
    if (ticket === undefined) {
      const args = appendArguments(batch, by, ticket, isLarge, '')
      const [reply] = (await this.#connection.run(APPEND, logKeys, args)) as [string[]]
      if (reply[0] !== 'regresses') return appendResult(reply)
    }
    const args = appendArguments(batch, by, ticket, isLarge, randomName())
    return appendResult((await this.#indexes.change(streamId, APPEND, logKeys, args)) as string[])
  }

  async read(streamId: string, after: Cursor | UnprovenCursor, limit: ReadLimit): Promise<Page | undefined> {
    checkNames({ streamId })
    checkIntegers({ sequence: after.sequence, ...limit })
    return this.#call(() => readPage(this.#connection, this.#keys.log(streamId), after, limit))
  }

  async find(streamId: string, key: string): Promise<{ first: number; last: number } | undefined> {
    checkNames({ streamId, key })
    return this.#call(async () => {
      const found = await this.#connection.send(['HGET', this.#keys.log(streamId).keys, encodeName(key)])
      if (found === null) return undefined
      const [first, last] = (found as string).split(' ')
      return { first: Number(first), last: Number(last) }
    })
  }

  watch(streamId: string, wake: Wake): () => void {
    checkNames({ streamId })
    return this.#watchers.watch(this.#keys.record(streamId), wake)
  }

  async claim(streamId: string, owner: string, ttlMs: number, takeover: boolean): Promise<ClaimResult> {
    checkNames({ streamId, owner })
    checkTtl(ttlMs)
    return this.#call(async () => {
      const args = [encodeName(owner), `${Math.ceil(ttlMs)}`, takeover ? '1' : '0', randomName()]
      // Only a takeover can shorten a lease.
      const keys = Object.values(this.#keys.log(streamId))
      const [outcome, epochOrOwner = '', until, clock] = (
        takeover
          ? await this.#indexes.change(streamId, scripts.CLAIM, keys, args)
          : ((await this.#connection.run(scripts.CLAIM, keys, args)) as [string[]])[0]
      ) as string[]
      const times = { until: Number(until), clock: Number(clock) }
      if (outcome === 'claimed') return { outcome, epoch: epochOrOwner, ...times }
      return outcome === 'busy' ? { outcome, owner: decodeName(epochOrOwner), ...times } : { outcome: 'absent' }
    })
  }

  async renew(streamId: string, epoch: string, ttlMs: number): Promise<{ until: number; clock: number } | undefined> {
    checkNames({ streamId })
    checkTtl(ttlMs)
    return this.#call(async () => {
      const args = [markOr(epoch), `${Math.ceil(ttlMs)}`]
      let reply = await this.#run(streamId, scripts.RENEW, [...args, '0'])
      if (reply[0] === 'shorter') reply = await this.#change(streamId, scripts.RENEW, [...args, '1'])
      const [outcome, until, clock] = reply
      return outcome === 'renewed' ? { until: Number(until), clock: Number(clock) } : undefined
    })
  }

  async release(streamId: string, epoch: string): Promise<void> {
    checkNames({ streamId })
    return this.#call(async () => {
      await this.#change(streamId, scripts.RELEASE, [markOr(epoch)])
    })
  }

  async due(programs: readonly string[], limit: number): Promise<readonly string[]> {
    for (const program of programs) checkNames({ program })
    checkIntegers({ limit })
    return this.#call(() => dueOf(this.#connection, this.#keys, this.#indexes, programs, limit))
  }

  async putSnapshot(streamId: string, snapshot: StoredSnapshot, keep: number): Promise<void> {
    checkNames({ streamId })
    checkIntegers({ sequence: snapshot.sequence, keep })
    return this.#call(async () => {
      const { head, snapshotIndex, snapshots } = this.#keys.log(streamId)
      const { sequence, mark, version, body } = snapshot
      const args = [`${sequence}`, `${version} ${encodeName(mark)} ${body}`, `${keep}`]
      await this.#connection.run(scripts.PUT_SNAPSHOT, [head, snapshotIndex, snapshots], args)
    })
  }

  async getSnapshot(streamId: string, atMost: number): Promise<StoredSnapshot | undefined> {
    checkNames({ streamId })
    checkIntegers({ atMost })
    return this.#call(async () => {
      const { snapshotIndex, snapshots } = this.#keys.log(streamId)
      const found = await this.#connection.run(scripts.GET_SNAPSHOT, [snapshotIndex, snapshots], [`${atMost}`])
      if (found === null) return undefined
      const [sequence, text] = found as [string, string]
      const [, version, mark = '', body = ''] = /^(\S+) (\S+) (.*)$/s.exec(text) ?? []
      return { sequence: Number(sequence), mark: decodeName(mark), version: Number(version), body }
    })
  }

  async putBlob(streamId: string, hash: string, data: Uint8Array): Promise<void> {
    checkNames({ streamId, hash })
    return this.#call(async () => {
      const { record, blobs } = this.#keys.log(streamId)
      // A copy: the caller may change its bytes before the client has written them.
      await this.#connection.run(scripts.PUT_BLOB, [record, blobs], [encodeName(hash), Buffer.from(data)])
    })
  }

  async getBlob(streamId: string, hash: string): Promise<Uint8Array | undefined> {
    checkNames({ streamId, hash })
    return this.#call(async () => {
      const { blobs } = this.#keys.log(streamId)
      const found = (await this.#connection.send(['HGET', blobs, encodeName(hash)], true)) as Buffer | null
      return found === null ? undefined : new Uint8Array(found)
    })
  }

  async blobUsage(scope: BlobScope, prefix: string): Promise<BlobUsage> {
    checkNames({ ...scope, prefix })
    const start = prefix === '' ? '' : encodeName(prefix)
    const usageOf = async (streamId: string): Promise<BlobUsage> => {
      const [count, bytes] = (await this.#connection.run(
        scripts.BLOB_USAGE,
        [this.#keys.log(streamId).blobs],
        [start],
      )) as [number, number]
      return { count, bytes }
    }
    return this.#call(async () => {
      if ('streamId' in scope) return usageOf(scope.streamId)
      const total = { count: 0, bytes: 0 }
      for (let after: string | undefined; ; ) {
        const page = await listOf(this.#connection, this.#keys, this.#indexes, scope.principal, USAGE_PAGE_SIZE, after)
        for (const { count, bytes } of await Promise.all(page.streams.map(({ streamId }) => usageOf(streamId)))) {
          total.count += count
          total.bytes += bytes
        }
        if (page.next === null) return total
        after = page.next
      }
    })
  }

  async probeWrite(): Promise<void> {
    return this.#call(async () => {
      await this.#connection.send(['SET', this.#keys.index('probe'), '0'.repeat(PROBE_BYTES), 'PX', `${PROBE_MS}`])
    })
  }

  async trim(streamId: string, floor: number, ifVersion?: string): Promise<boolean> {
    checkNames({ streamId })
    checkIntegers({ floor })
    return this.#call(async () => {
      const { record, head, batches, keys, trimmed } = this.#keys.log(streamId)
      const args = [`${floor}`, ...(ifVersion === undefined ? ['0', ''] : ['1', ifVersion])]
      return (await this.#connection.run(scripts.TRIM, [record, head, batches, keys, trimmed], args)) === 1
    })
  }

  async fork(source: string, at: number, target: string, options: Fork): Promise<ForkResult> {
    checkFork(source, at, target, options)
    return this.#call(() => fork(this.#connection, this.#keys, this.#indexes, source, at, target, options))
  }

  async list(principal: string | null, limit: number, after?: string): Promise<ListPage> {
    checkNames({ principal })
    checkIntegers({ limit })
    return this.#call(() => listOf(this.#connection, this.#keys, this.#indexes, principal, limit, after))
  }

  async listOldest(limit: number, after?: string): Promise<OldestPage> {
    checkIntegers({ limit })
    return this.#call(() => oldestOf(this.#connection, this.#keys, this.#indexes, limit, after))
  }

  async expireAfter(streamId: string, ms: number, ifVersion: string): Promise<boolean> {
    checkNames({ streamId })
    checkIntegers({ ms })
    return this.#call(async () => {
      const keys = Object.values(this.#keys.log(streamId))
      return (await this.#connection.run(scripts.EXPIRE, keys, [`${ms}`, ifVersion])) === 1
    })
  }

  async remove(streamId: string, ifVersion?: string): Promise<boolean> {
    checkNames({ streamId })
    return this.#call(async () => {
      const keys = Object.values(this.#keys.log(streamId))
      const args = ifVersion === undefined ? ['0', ''] : ['1', ifVersion]
      const removed = await this.#connection.run(scripts.REMOVE, keys, args)
      if (removed === 1) this.#track(this.#indexes.refresh([streamId]).catch(() => {}))
      return removed === 1
    })
  }

  restored(): Promise<number> {
    return this.#call(async () => {
      // All incarnations of one restore have the same prefix, so that a log that SCAN returns twice is counted once.
      const incarnationPrefix = `${randomName()}-`
      let count = 0
      let cursor = '0'
      do {
        const scan = ['SCAN', cursor, 'MATCH', this.#keys.pattern, 'COUNT', `${RESTORE_PAGE_SIZE}`, 'TYPE', 'string']
        const [next, records] = (await this.#connection.send(scan)) as [string, string[]]
        const changes = records.map((record, i) =>
          this.#change(this.#keys.streamOf(record), scripts.RESTORE, [incarnationPrefix, `${cursor}-${i}`]),
        )
        for (const [restored] of await Promise.all(changes)) count += restored as number
        cursor = next
      } while (cursor !== '0')
      return count
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#plain.flush()
    const watchersClosed = Promise.all([this.#watchers.close(), this.heartbeat.close()])
    while (this.#inFlight.size > 0) await Promise.allSettled(this.#inFlight)
    await Promise.all([watchersClosed, this.#connection.close()])
  }

  /** Runs a script on a log's record and head. */
  async #run(streamId: string, script: Script, args: readonly string[]): Promise<Reply[]> {
    const { record, head } = this.#keys.log(streamId)
    const [reply] = (await this.#connection.run(script, [record, head], args)) as [Reply[]]
    return reply
  }

  /** Runs a script that can change the log's index fields, and updates the indexes. */
  #change(streamId: string, script: Script, args: readonly string[]): Promise<Reply[]> {
    const { record, head } = this.#keys.log(streamId)
    return this.#indexes.change(streamId, script, [record, head], args)
  }

  #call<T>(operation: () => Promise<T>): Promise<T> {
    if (this.#closed) return Promise.reject(new LogError('closed', 'the store was closed: open another handle'))
    return this.#track(operation())
  }

  /** Translates errors. `close` waits for tracked work. */
  #track<T>(work: Promise<T>): Promise<T> {
    const reply = work.catch(error => {
      throw failure(this.#server, error)
    })
    this.#inFlight.add(reply)
    const done = () => this.#inFlight.delete(reply)
    reply.then(done, done)
    return reply
  }
}
