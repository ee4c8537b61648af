import type { Cursor, UnprovenCursor } from '@millrace/protocol'
import type pg from 'pg'
import { checkAppend, checkFork, checkIntegers, checkNames, checkTtl, listTokenError } from '../../store/checks.ts'
import type { HeartbeatThread } from '../../store/heartbeat-thread.ts'
import { LogError } from '../../store/log-error.ts'
import type {
  Accepted,
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
  TicketRecord,
  Wake,
  WriterAppend,
} from '../../store/log-store.ts'
import { randomName } from '../../store/names.ts'
import { MAX_TIMER_MS } from '../../store/timers.ts'
import { AppendQueue } from './append-queue.ts'
import { Database, type PostgresDriver } from './database.ts'
import { postgresHeartbeat } from './heartbeat.ts'
import { Listener } from './listener.ts'
import { decodeName, encodeName, keyOf, longNameOf } from './name.ts'
import { channelOf, Notifier, readPayload } from './notifier.ts'
import { quoteIdentifier, statementsOf } from './statements.ts'
import { PostgresWatchers } from './watchers.ts'

const MAX_BATCH_BYTES = 8 * 1024 * 1024
const LIST_TOKEN = /^(\d{1,16})-(\d{1,18})$/
const OLDEST_START = ['-1', '0'] as const
const LIST_START = ['9223372036854775807', '9223372036854775807'] as const

/** Size of the value that a probe writes, in bytes. */
const PROBE_BYTES = 8 * 1024
const DEFAULT_SCHEMA = 'millrace'
const DEFAULT_POOL_SIZE = 10
const DEFAULT_TIMEOUT_MS = 30_000
const CONNECT_TIMEOUT_MS = 10_000
const KEEP_ALIVE_MS = 10_000
const MAX_SCHEMA_BYTES = 63

interface CommonOptions {
  /**
   * The schema of the tables, created at the first call.
   *
   * @default 'millrace'
   */
  readonly schema?: string
  /**
   * How long a call waits for its answer before it rejects with `unavailable`, in ms.
   *
   * @default 30000
   */
  readonly timeoutMs?: number
  /**
   * Where to LISTEN for changes of other processes: the URL of a direct connection if the store's goes through a
   * transaction pooler (which does not forward notifications), or false for none. Without LISTEN a watcher is up to a
   * second late.
   *
   * @default the store's own connection settings
   */
  readonly listen?: string | false
  /**
   * What an acknowledged append survives.
   *
   * - `on`: it is on the server's disk, and on those of its synchronous replicas (`synchronous_standby_names`). It
   * survives a crash, a power cut, and a failover to such a replica.
   * - `off`: it is in the server's memory. A crash of the server (not of this process) may lose the last appends, at
   * most those of three times wal_writer_delay (0.6 s by default), newest first.
   *
   * With asynchronous replicas, a failover may lose entries that they had not received, with either setting. Lost
   * entries are detected: the writer gets `regressed`, and a reader that had read them gets `truncated`. After
   * restoring a backup, call `restored()`.
   *
   * @default the server's setting
   */
  readonly synchronousCommit?: 'on' | 'off'
}

/**
 * The database: a URL, or a pool of `pg`. The caller creates and ends the pool, and the pool keeps its own connection
 * timeout.
 */
export type PostgresOptions = CommonOptions &
  (
    | {
        /** `postgres://user:password@host:port/database`, with the options of `pg` after a `?`. */
        readonly url: string
        /**
         * Maximum number of connections for statements. One more listens while there are watchers.
         *
         * @default 10
         */
        readonly poolSize?: number
      }
    | { readonly pool: pg.Pool }
  )

/**
 * Opens a store in Postgres with the given exports of the `pg` package, so that an application can load the package
 * on demand.
 */
export function createPostgresStore(driver: PostgresDriver, options: PostgresOptions): LogStore {
  const { schema = DEFAULT_SCHEMA, listen, synchronousCommit, timeoutMs = DEFAULT_TIMEOUT_MS } = options
  if (schema === '' || schema.includes('\0') || Buffer.byteLength(schema) > MAX_SCHEMA_BYTES) {
    throw new LogError(
      'invalid',
      `schema: expected a name of 1 to ${MAX_SCHEMA_BYTES} bytes without NUL, found ${JSON.stringify(schema)}`,
    )
  }
  if (!(timeoutMs >= 1 && timeoutMs <= MAX_TIMER_MS)) {
    throw new LogError('invalid', `timeoutMs: expected 1 to ${MAX_TIMER_MS} milliseconds, found ${timeoutMs}`)
  }
  const pool = 'pool' in options ? options.pool : undefined
  const config = 'pool' in options ? options.pool.options : configOf(driver, options.url, timeoutMs, options.poolSize)
  const database = new Database({ driver, config, pool, schema, timeoutMs })
  const listening = typeof listen === 'string' ? configOf(driver, listen, timeoutMs) : config
  return new PostgresStore({
    database,
    schema,
    connectListener: listen === false ? undefined : () => new driver.Client(listening),
    synchronousCommit,
    heartbeat: postgresHeartbeat(config, { schema, timeoutMs }),
  })
}

function configOf(driver: PostgresDriver, url: string, timeoutMs: number, poolSize = DEFAULT_POOL_SIZE): pg.PoolConfig {
  if (!Number.isInteger(poolSize) || poolSize < 1) {
    throw new LogError('invalid', `poolSize: expected a whole number from 1, found ${poolSize}`)
  }
  const config: pg.PoolConfig = {
    connectionString: url,
    max: poolSize,
    connectionTimeoutMillis: Math.min(CONNECT_TIMEOUT_MS, timeoutMs),
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    fallback_application_name: 'millrace',
    allowExitOnIdle: true,
  }
  if (!/^postgres(ql)?:\/\//.test(url) || !isParsed(driver, config)) {
    throw new LogError('invalid', 'url: expected postgres://user:password@host:port/database, found another format')
  }
  return config
}

// The parser's message is not reported: it may contain the password.
function isParsed({ Client }: PostgresDriver, config: pg.ClientConfig): boolean {
  try {
    new Client(config)
    return true
  } catch {
    return false
  }
}

interface PostgresStoreSettings {
  readonly database: Database
  readonly schema: string
  /** Creates the client that listens; undefined for none. */
  readonly connectListener: (() => pg.Client) | undefined
  readonly synchronousCommit: 'on' | 'off' | undefined
  readonly heartbeat: HeartbeatThread
}

class PostgresStore implements LogStore {
  readonly maxBatchBytes = MAX_BATCH_BYTES
  readonly #database: Database
  readonly #sql: ReturnType<typeof statementsOf>
  readonly #synchronousCommit: string | null
  readonly #channel: string
  readonly #sender = randomName()
  readonly #appends: AppendQueue
  readonly #notifier: Notifier
  readonly #watchers: PostgresWatchers
  readonly heartbeat: HeartbeatThread
  #listener: Listener | undefined
  #closing: Promise<void> | undefined

  constructor({ database, schema, connectListener, synchronousCommit, heartbeat }: PostgresStoreSettings) {
    this.#database = database
    this.heartbeat = heartbeat
    this.#sql = statementsOf(quoteIdentifier(schema))
    this.#synchronousCommit = synchronousCommit ?? null
    this.#channel = channelOf(schema)
    this.#appends = new AppendQueue(database, `${quoteIdentifier(schema)}.append`)
    this.#notifier = new Notifier(this.#sender, payloads => database.send(this.#sql.notify, [this.#channel, payloads]))
    this.#watchers = new PostgresWatchers({
      stampsOf: streamIds => this.#stampsOf(streamIds),
      start: () => this.#listen(connectListener),
    })
  }

  async create(streamId: string, principal: string | null): Promise<boolean> {
    checkNames({ streamId, principal })
    const values = [...nameColumns(streamId), ...nameColumns(principal), randomName()]
    const rows = await this.#database.query('create', this.#sql.create, values)
    return rows.length > 0
  }

  async append(
    streamId: string,
    batch: Batch,
    by: WriterAppend | GuestAppend,
    ticket?: TicketMove,
  ): Promise<AppendResult> {
    checkAppend(streamId, batch, by, ticket)
    const isWithinLimit = batch.body.length * 3 <= MAX_BATCH_BYTES || Buffer.byteLength(batch.body) <= MAX_BATCH_BYTES
    const body = isWithinLimit ? batch.body : null
    const result =
      'epoch' in by && ticket === undefined
        ? await this.#appends.append(keyOf(streamId), body, this.#writerValues(batch, by))
        : await this.#appendAlone(streamId, body, batch, by, ticket)
    const [outcome, first, last, clock] = result.slice(1, -1).split(',')
    if (outcome === 'appended') this.#changed(streamId, Number(last))
    else if (outcome === 'regressed') this.#changed(streamId)
    if (outcome !== 'appended' && outcome !== 'duplicate') return { outcome } as AppendResult
    return { outcome, first: Number(first), last: Number(last), clock: Number(clock) } satisfies Accepted
  }

  async #appendAlone(
    streamId: string,
    body: string | null,
    batch: Batch,
    by: WriterAppend | GuestAppend,
    ticket: TicketMove | undefined,
  ): Promise<string> {
    const [[row] = []] = await this.#database.query('append', this.#sql.append, [
      keyOf(streamId),
      body,
      ...this.#writerValues(batch, 'epoch' in by ? by : undefined),
      ...('epoch' in by ? [null, null, null] : [keyOf(by.key), by.keep, encodeName(by.nonce)]),
      ticket ? encodeName(ticket.ifVersion) : null,
      ...ticketValues(ticket?.next),
    ])
    return String(row)
  }

  #writerValues({ count }: Batch, by: WriterAppend | undefined): unknown[] {
    if (by === undefined) return [count, this.#synchronousCommit, null, null, null, null, null]
    const { sequence, incarnation, epoch } = by.lastAcked
    const acked = [sequence, encodeName(incarnation), encodeName(epoch)]
    return [count, this.#synchronousCommit, encodeName(by.epoch), by.counter, ...acked]
  }

  async read(streamId: string, after: Cursor | UnprovenCursor, limit: ReadLimit): Promise<Page | undefined> {
    checkNames({ streamId })
    checkIntegers({ sequence: after.sequence, ...limit })
    const { sequence, incarnation, epoch } = after
    const proof = [incarnation, epoch].map(name => (name === undefined ? null : encodeName(name)))
    const values = [keyOf(streamId), sequence, ...proof, bigintOf(limit.batches), bigintOf(limit.bytes)]
    return pageOf(await this.#database.query('read', this.#sql.read, values, true))
  }

  async find(streamId: string, key: string): Promise<{ first: number; last: number } | undefined> {
    checkNames({ streamId, key })
    const [row] = await this.#database.query('find', this.#sql.find, [keyOf(streamId), keyOf(key)])
    return row && { first: Number(row[0]), last: Number(row[1]) }
  }

  watch(streamId: string, wake: Wake): () => void {
    checkNames({ streamId })
    if (this.#database.closed) throw new LogError('closed', 'watch: the store was closed: open another handle')
    return this.#watchers.watch(streamId, wake)
  }

  async claim(streamId: string, owner: string, ttlMs: number, takeover: boolean): Promise<ClaimResult> {
    checkNames({ streamId, owner })
    checkTtl(ttlMs)
    const values = [keyOf(streamId), encodeName(owner), bigintOf(ttlMs), takeover, randomName()]
    const [row = []] = await this.#database.query('claim', this.#sql.claim, values)
    const [outcome, epoch, holder, until, clock] = row
    if (outcome === 'absent') return { outcome }
    const lease = { until: Number(until), clock: Number(clock) }
    if (outcome === 'busy') return { outcome, owner: decodeName(String(holder)), ...lease }
    this.#changed(streamId)
    return { outcome: 'claimed', epoch: String(epoch), ...lease }
  }

  async renew(streamId: string, epoch: string, ttlMs: number): Promise<{ until: number; clock: number } | undefined> {
    checkNames({ streamId })
    checkTtl(ttlMs)
    const values = [keyOf(streamId), encodeName(epoch), bigintOf(ttlMs)]
    const [[until, clock] = []] = await this.#database.query('renew', this.#sql.renew, values)
    return until === null ? undefined : { until: Number(until), clock: Number(clock) }
  }

  async release(streamId: string, epoch: string): Promise<void> {
    checkNames({ streamId })
    const values = [keyOf(streamId), encodeName(epoch)]
    const rows = await this.#database.query('release', this.#sql.release, values)
    if (rows.length > 0) this.#changed(streamId)
  }

  async due(programs: readonly string[], limit: number): Promise<readonly string[]> {
    for (const program of programs) checkNames({ program })
    checkIntegers({ limit })
    const driven = Array.from(new Set(programs), keyOf)
    const rows = await this.#database.query('due', this.#sql.due, [driven, bigintOf(limit)])
    return rows.map(([name]) => decodeName(String(name)))
  }

  async putSnapshot(streamId: string, snapshot: StoredSnapshot, keep: number): Promise<void> {
    checkNames({ streamId })
    checkIntegers({ sequence: snapshot.sequence, keep })
    const { sequence, mark, version, body } = snapshot
    const values = [keyOf(streamId), sequence, encodeName(mark), version, body, bigintOf(keep)]
    await this.#database.query('putSnapshot', this.#sql.putSnapshot, values)
  }

  async getSnapshot(streamId: string, atMost: number): Promise<StoredSnapshot | undefined> {
    checkNames({ streamId })
    checkIntegers({ atMost })
    const [row] = await this.#database.query('getSnapshot', this.#sql.getSnapshot, [keyOf(streamId), bigintOf(atMost)])
    if (row === undefined) return undefined
    const [sequence, mark, version, body] = row
    return {
      sequence: Number(sequence),
      mark: decodeName(String(mark)),
      version: Number(version),
      body: String(body),
    }
  }

  async putBlob(streamId: string, hash: string, data: Uint8Array): Promise<void> {
    checkNames({ streamId, hash })
    await this.#database.query('putBlob', this.#sql.putBlob, [keyOf(streamId), keyOf(hash), data])
  }

  async getBlob(streamId: string, hash: string): Promise<Uint8Array | undefined> {
    checkNames({ streamId, hash })
    const [row] = await this.#database.query('getBlob', this.#sql.getBlob, [keyOf(streamId), keyOf(hash)])
    return row && new Uint8Array(row[0] as Buffer)
  }

  async blobUsage(scope: BlobScope, prefix: string): Promise<BlobUsage> {
    checkNames({ ...scope, prefix })
    const isOne = 'streamId' in scope
    const name = isOne ? scope.streamId : scope.principal
    const statement = isOne ? 'blobUsage' : 'blobUsageOfPrincipal'
    const values = [name === null ? null : keyOf(name), encodeName(prefix)]
    const [[count, bytes] = []] = await this.#database.query(statement, this.#sql[statement], values)
    return { count: Number(count), bytes: Number(bytes) }
  }

  async probeWrite(): Promise<void> {
    const name = randomName()
    await this.#database.query('probeWrite', this.#sql.probeWrite, [name, Buffer.alloc(PROBE_BYTES)])
    await this.#database.query('endProbe', this.#sql.endProbe, [name])
  }

  async trim(streamId: string, floor: number, ifVersion?: string): Promise<boolean> {
    checkNames({ streamId })
    checkIntegers({ floor })
    const values = [keyOf(streamId), bigintOf(floor), ifVersion === undefined ? null : encodeName(ifVersion)]
    const [[outcome] = []] = await this.#database.query('trim', this.#sql.trim, values)
    if (outcome === 'rose') this.#changed(streamId)
    return outcome !== 'refused'
  }

  async fork(source: string, at: number, target: string, fork: Fork): Promise<ForkResult> {
    checkFork(source, at, target, fork)
    const { principal, ticket, closing } = fork
    const values = [keyOf(source), at, ...nameColumns(target), ...nameColumns(principal), randomName()]
    values.push(
      ...(closing ? [closing.batch.body, closing.batch.count, encodeName(closing.nonce)] : [null, null, null]),
    )
    const [[outcome] = []] = await this.#database.query('fork', this.#sql.fork, [...values, ...ticketValues(ticket)])
    if (outcome === 'forked') this.#changed(target)
    return outcome as ForkResult
  }

  async list(principal: string | null, limit: number, after?: string): Promise<ListPage> {
    checkNames({ principal })
    checkIntegers({ limit })
    const from = after === undefined ? LIST_START : LIST_TOKEN.exec(after)?.slice(1)
    if (from === undefined) throw listTokenError()
    const size = bigintOf(limit)
    const statement = principal === null ? this.#sql.listUnowned : this.#sql.list
    // One more than requested, to detect a next page.
    const values = [principal === null ? null : keyOf(principal), size + 1, ...from]
    const rows = await this.#database.query('list', statement, values)
    const page = rows.slice(0, size)
    const [touched, id] = page.at(-1)?.slice(4) ?? []
    const streams = page.map(([name, head, ticket, createdAt, touchedAt]) => ({
      streamId: decodeName(String(name)),
      head: Number(head),
      ticket: String(ticket),
      createdAt: Number(createdAt),
      touchedAt: Number(touchedAt),
    }))
    return { streams, next: page.length > 0 && rows.length > size ? `${touched}-${id}` : null }
  }

  async listOldest(limit: number, after?: string): Promise<OldestPage> {
    checkIntegers({ limit })
    const from = after === undefined ? OLDEST_START : LIST_TOKEN.exec(after)?.slice(1)
    if (from === undefined) throw listTokenError('listOldest')
    const size = bigintOf(limit)
    // One more than requested, to detect a next page.
    const rows = await this.#database.query('listOldest', this.#sql.listOldest, [size + 1, ...from])
    const found = rows.filter(([, name]) => name !== null)
    const page = found.slice(0, size)
    const [touched, , , id] = page.at(-1)?.slice(6) ?? []
    const streams = page.map(([, name, head, floor, ticket, createdAt, touchedAt, owner, until]) => ({
      streamId: decodeName(String(name)),
      head: Number(head),
      floor: Number(floor),
      ticket: String(ticket),
      createdAt: Number(createdAt),
      touchedAt: Number(touchedAt),
      lease: owner === null ? null : { owner: decodeName(String(owner)), until: Number(until) },
    }))
    const next = page.length > 0 && found.length > size ? `${touched}-${id}` : null
    return { streams, next, clock: Number(rows[0]?.[0]) }
  }

  async remove(streamId: string, ifVersion?: string): Promise<boolean> {
    checkNames({ streamId })
    const values = [keyOf(streamId), ifVersion === undefined ? null : encodeName(ifVersion)]
    const [[removed] = []] = await this.#database.query('remove', this.#sql.remove, values)
    if (removed) this.#changed(streamId)
    return removed === true
  }

  async restored(): Promise<number> {
    const [[count] = []] = await this.#database.query('restored', this.#sql.restored)
    void this.#watchers.poll()
    return Number(count)
  }

  close(): Promise<void> {
    this.#closing ??= this.#end()
    return this.#closing
  }

  async #end(): Promise<void> {
    this.#database.refuse()
    this.#watchers.close()
    await this.#database.settled()
    await this.#notifier.flushed()
    await Promise.all([this.#database.end(), this.#listener?.stop(), this.heartbeat.close()])
  }

  /** `head` is the last sequence of an append; undefined for other changes. */
  #changed(streamId: string, head?: number): void {
    this.#watchers.wake(streamId, head)
    this.#notifier.notify(streamId)
  }

  async #stampsOf(streamIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const byKey = new Map(streamIds.map(streamId => [keyOf(streamId), streamId]))
    const rows = await this.#database.query('watch', this.#sql.stamps, [[...byKey.keys()]])
    return new Map(rows.map(([key, stamp]) => [byKey.get(String(key)) as string, String(stamp)]))
  }

  #listen(connect: (() => pg.Client) | undefined): () => void {
    if (connect === undefined) return () => {}
    const listener = new Listener(connect, this.#channel, {
      connected: () => void this.#watchers.poll(),
      notified: payload => {
        const { sender, tokens } = readPayload(payload)
        if (sender !== this.#sender) this.#watchers.wakeTokens(tokens)
      },
    })
    this.#listener = listener
    return () => void listener.stop()
  }
}

/** The columns of a name: its key, and the name itself if the key is a hash. */
function nameColumns(name: string | null): [string | null, string | null] {
  return name === null ? [null, null] : [keyOf(name), longNameOf(name)]
}

function ticketValues(ticket: TicketRecord | undefined): unknown[] {
  if (ticket === undefined) return [null, null, null, null]
  const { at, program } = ticket.due
  const due = typeof at === 'number' ? Math.ceil(at) : null
  return [ticket.state, at === 'now', due, program === null ? null : keyOf(program)]
}

/** A number as a bigint parameter: an integer from 0 to 2^53 - 1. */
const bigintOf = (value: number): number => Math.min(Math.max(Math.trunc(value), 0), Number.MAX_SAFE_INTEGER)

interface PostgresHeadRow {
  incarnation: string
  head: number
  mark: string
  floor: number
  version: string
  ticket: string
  principal: string | null
  createdAt: number
  touchedAt: number
  owner: string | null
  until: number
  clock: number
  truncated: Page['truncated']
}

/** The page in the rows of a read: the first row's body is the log itself, the others are its batches. */
function pageOf(rows: readonly (readonly unknown[])[]): Page | undefined {
  const [log, ...batches] = rows
  if (log === undefined) return undefined
  const { owner, until, ...head } = JSON.parse(String(log[4])) as PostgresHeadRow
  return {
    ...head,
    mark: decodeName(head.mark),
    version: decodeName(head.version),
    principal: head.principal === null ? null : decodeName(head.principal),
    lease: owner === null ? null : { owner: decodeName(owner), until },
    batches: batches.map(([first, last, at, mark, body]) => ({
      first: Number(first),
      last: Number(last),
      timestamp: Number(at),
      mark: decodeName(String(mark)),
      body: String(body),
    })),
  }
}
