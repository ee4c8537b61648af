import { createHash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { type Backoff, backoffMs } from '@millrace/protocol/retry'
import type pg from 'pg'
import { LogError } from '../../store/log-error.ts'
import { failureOf, isConflict, isMissing, isUnprepared } from './failure.ts'
import { CLOSE_TIMEOUT_MS } from './listener.ts'
import { isCurrent, migrate, type Run } from './migrations.ts'

const MIGRATION_TIMEOUT_MS = 120_000
const MAX_TRIES = 6
/** Delays after conflicting transactions. With full jitter, so that they do not conflict again. */
const CONFLICT_BACKOFF: Backoff = { firstMs: 10, longestMs: 320 }

type Rows = readonly (readonly unknown[])[]

/** The exports of the `pg` package that the store uses. */
export type PostgresDriver = Pick<typeof pg, 'Client' | 'Pool'>

export interface DatabaseOptions {
  readonly driver: PostgresDriver
  readonly config: pg.PoolConfig
  /** A pool of the caller, which stays open. */
  readonly pool: pg.Pool | undefined
  readonly schema: string
  /** Timeout of a statement, in ms. */
  readonly timeoutMs: number
}

/** The connections to one schema. Connects and migrates at the first statement. */
export class Database {
  /** Host, port and database, for messages. */
  readonly address: string
  readonly poolSize: number
  readonly #pool: pg.Pool
  readonly #owned: boolean
  readonly #schema: string
  readonly #timeoutMs: number
  readonly #inFlight = new Set<Promise<unknown>>()
  readonly #connections = new Set<pg.PoolClient>()
  #onAllClosed = () => {}
  #ready: Promise<void> | undefined
  /** Whether connections keep prepared statements, as far as known. */
  #canPrepare = true
  #closed = false

  constructor({ driver, config, pool, schema, timeoutMs }: DatabaseOptions) {
    const { host, port, database } = new driver.Client(pool?.options ?? config)
    this.address = `${host}:${port}/${database}`
    this.#owned = pool === undefined
    this.#pool = pool ?? new driver.Pool(config)
    this.poolSize = this.#pool.options.max
    this.#schema = schema
    this.#timeoutMs = timeoutMs
    // The pool drops an idle connection that breaks. Without a listener, its error would end the process.
    this.#pool.on('error', ignore)
    if (!this.#owned) return
    this.#pool.on('connect', client => this.#connections.add(client))
    this.#pool.on('remove', client => {
      this.#connections.delete(client)
      if (this.#connections.size === 0) this.#onAllClosed()
    })
  }

  get closed(): boolean {
    return this.#closed
  }

  /** Runs one statement in its own transaction and returns its rows. `operation` names the call in an error. */
  query(operation: string, text: string, values: readonly unknown[] = [], isFrequent = false): Promise<Rows> {
    return this.guard(operation, () => this.run(text, values, isFrequent))
  }

  /**
   * Runs work that `settled` waits for. An error says what was tried, where, and what to do.
   *
   * @throws LogError `closed` after `refuse`.
   */
  guard<T>(operation: string, work: () => Promise<T>): Promise<T> {
    if (this.#closed) {
      return Promise.reject(new LogError('closed', `${operation}: the store was closed: open another handle`))
    }
    const done = work().catch(error => {
      if (isMissing(error)) this.#ready = undefined
      throw failureOf(error, operation, this.address)
    })
    this.#inFlight.add(done)
    const settle = () => this.#inFlight.delete(done)
    done.then(settle, settle)
    return done
  }

  /** Runs a statement within guarded work. With `isFrequent` it may be prepared. */
  async run(text: string, values: readonly unknown[], isFrequent = false): Promise<Rows> {
    this.#ready ??= this.#prepare().catch(error => {
      this.#ready = undefined
      throw error
    })
    await this.#ready
    for (let tries = 1; ; tries++) {
      const name = isFrequent && this.#canPrepare ? nameOf(text) : undefined
      try {
        return await send(this.#pool, text, values, this.#timeoutMs, name)
      } catch (error) {
        if (tries === MAX_TRIES) throw error
        if (name !== undefined && isUnprepared(error)) this.#canPrepare = false
        else if (isConflict(error)) await pause(Math.random() * backoffMs(CONFLICT_BACKOFF, tries))
        else throw error
      }
    }
  }

  async #prepare(): Promise<void> {
    const alone: Run = (text, values = []) => send(this.#pool, text, values, this.#timeoutMs)
    if (await isCurrent(alone, this.#schema)) return
    const client = await this.#pool.connect()
    client.on('error', ignore)
    let failure: unknown
    try {
      const run: Run = (text, values = []) => send(client, text, values, MIGRATION_TIMEOUT_MS)
      await run('begin')
      await migrate(run, this.#schema)
      await run('commit')
    } catch (error) {
      failure = error
      throw error
    } finally {
      // Closing the connection ends its open transaction.
      client.off('error', ignore)
      client.release(failure !== undefined)
    }
  }

  /** Runs a statement that needs no tables, also after `refuse`. */
  send(text: string, values: readonly unknown[]): Promise<Rows> {
    return send(this.#pool, text, values, this.#timeoutMs)
  }

  /** Rejects later statements. */
  refuse(): void {
    this.#closed = true
  }

  /** Waits for the work in flight. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#inFlight)
  }

  /** Closes the connections. Resolves when the server has closed all of them. */
  async end(): Promise<void> {
    if (!this.#owned) {
      this.#pool.off('error', ignore)
      return
    }
    // The error listener stays: connections may still break while they close, and the pool does not wait for them.
    await this.#pool.end()
    if (this.#connections.size === 0) return
    const allClosed = new Promise<void>(resolve => {
      this.#onAllClosed = resolve
    })
    const timer = setTimeout(() => {
      for (const client of this.#connections) client.connection.stream.destroy()
    }, CLOSE_TIMEOUT_MS)
    await allClosed
    clearTimeout(timer)
  }
}

// Behind a transaction pooler the next statement may get another session, which may lack a statement of that name or
// have one of another process. The name is the hash of the text, so a statement found by it is the right one; a
// missing one is reported before anything happens.
const names = new Map<string, string>()

function nameOf(text: string): string {
  const name = names.get(text) ?? `millrace_${createHash('sha256').update(text).digest('hex').slice(0, 32)}`
  names.set(text, name)
  return name
}

async function send(
  to: pg.Pool | pg.PoolClient,
  text: string,
  values: readonly unknown[],
  timeoutMs: number,
  name?: string,
): Promise<Rows> {
  const query = { name, text, values: [...values], rowMode: 'array' as const, query_timeout: timeoutMs }
  const { rows } = await to.query<unknown[]>(query)
  return rows
}

function ignore(): void {}
