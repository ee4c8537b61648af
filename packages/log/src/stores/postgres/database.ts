import { createHash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type pg from 'pg'
import { LogError } from '../../store/log-error.ts'
import { failureOf, isConflict, isMissing, isUnprepared } from './failure.ts'
import { GOODBYE_MS } from './listener.ts'
import { isCurrent, migrate, type Run } from './migrations.ts'

const MIGRATION_MS = 120_000
const MAX_TRIES = 6
const RETRY_MS = 10

type Rows = readonly (readonly unknown[])[]

/** The exports of the `pg` package that the store uses. */
export type PostgresDriver = Pick<typeof pg, 'Client' | 'Pool'>

export interface DatabaseOptions {
  readonly driver: PostgresDriver
  readonly config: pg.PoolConfig
  /** A pool of the caller's, which outlives us. */
  readonly pool: pg.Pool | undefined
  readonly schema: string
  /** How long a statement may take, in milliseconds. */
  readonly timeout: number
}

/** The connections to one schema: made at the first statement, with its tables there before any other. */
export class Database {
  /** Where it is, for messages: host, port and database. */
  readonly place: string
  readonly poolSize: number
  readonly #pool: pg.Pool
  readonly #owned: boolean
  readonly #schema: string
  readonly #timeout: number
  readonly #underWay = new Set<Promise<unknown>>()
  readonly #connections = new Set<pg.PoolClient>()
  #gone = () => {}
  #ready: Promise<void> | undefined
  /** Whether a connection keeps the statements that were prepared on it, as far as we know. */
  #keeps = true
  #closed = false

  constructor({ driver, config, pool, schema, timeout }: DatabaseOptions) {
    const { host, port, database } = new driver.Client(pool?.options ?? config)
    this.place = `${host}:${port}/${database}`
    this.#owned = pool === undefined
    this.#pool = pool ?? new driver.Pool(config)
    this.poolSize = this.#pool.options.max
    this.#schema = schema
    this.#timeout = timeout
    // A connection that breaks while nobody uses it leaves the pool by itself; unheard, its error would end the process.
    this.#pool.on('error', ignore)
    if (!this.#owned) return
    this.#pool.on('connect', client => this.#connections.add(client))
    this.#pool.on('remove', client => {
      this.#connections.delete(client)
      if (this.#connections.size === 0) this.#gone()
    })
  }

  get closed(): boolean {
    return this.#closed
  }

  /** Runs one statement, which is a transaction of its own, and gives its rows; `what` is what a failure says was tried. */
  query(what: string, text: string, values: readonly unknown[] = [], often = false): Promise<Rows> {
    return this.guard(what, () => this.run(text, values, often))
  }

  /** Does a piece of work that the end waits for, unless it has come; a failure says what was tried, where, and what to do. */
  guard<T>(what: string, work: () => Promise<T>): Promise<T> {
    if (this.#closed) {
      return Promise.reject(new LogError('closed', `${what}: the store was closed: open another handle`))
    }
    const done = work().catch(error => {
      if (isMissing(error)) this.#ready = undefined
      throw failureOf(error, what, this.place)
    })
    this.#underWay.add(done)
    const settle = () => this.#underWay.delete(done)
    done.then(settle, settle)
    return done
  }

  /** Runs a statement within guarded work; one that runs often may be prepared. */
  async run(text: string, values: readonly unknown[], often = false): Promise<Rows> {
    this.#ready ??= this.#prepare().catch(error => {
      this.#ready = undefined
      throw error
    })
    await this.#ready
    for (let tries = 1; ; tries++) {
      const name = often && this.#keeps ? nameOf(text) : undefined
      try {
        return await send(this.#pool, text, values, this.#timeout, name)
      } catch (error) {
        if (tries === MAX_TRIES) throw error
        if (name !== undefined && isUnprepared(error)) this.#keeps = false
        else if (isConflict(error)) await pause(Math.random() * RETRY_MS * 2 ** tries)
        else throw error
      }
    }
  }

  async #prepare(): Promise<void> {
    const alone: Run = (text, values = []) => send(this.#pool, text, values, this.#timeout)
    if (await isCurrent(alone, this.#schema)) return
    const client = await this.#pool.connect()
    client.on('error', ignore)
    let failed: unknown
    try {
      const run: Run = (text, values = []) => send(client, text, values, MIGRATION_MS)
      await run('begin')
      await migrate(run, this.#schema)
      await run('commit')
    } catch (error) {
      failed = error
      throw error
    } finally {
      // A connection that goes takes its open transaction with it.
      client.off('error', ignore)
      client.release(failed !== undefined)
    }
  }

  /** Runs a statement that needs no tables and that nobody waits for, also after a refusal. */
  send(text: string, values: readonly unknown[]): Promise<Rows> {
    return send(this.#pool, text, values, this.#timeout)
  }

  /** Refuses the statements that come from now on. */
  refuse(): void {
    this.#closed = true
  }

  /** Waits for what is under way. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#underWay)
  }

  /** Lets the connections go; resolves when the server has none of them any more. */
  async end(): Promise<void> {
    if (!this.#owned) {
      this.#pool.off('error', ignore)
      return
    }
    // The pool is heard to the last: its connections may still break while they say goodbye, for which it does not wait.
    await this.#pool.end()
    if (this.#connections.size === 0) return
    const gone = new Promise<void>(resolve => {
      this.#gone = resolve
    })
    const late = setTimeout(() => {
      for (const client of this.#connections) client.connection.stream.destroy()
    }, GOODBYE_MS)
    await gone
    clearTimeout(late)
  }
}

// Behind a transaction pooler the next statement may meet another session, which knows no statement of that name, or one of another process.
// The name is the hash of the text: what is found by it is what was meant, and if nothing is, that is told before anything happens.
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
  timeout: number,
  name?: string,
): Promise<Rows> {
  const query = { name, text, values: [...values], rowMode: 'array' as const, query_timeout: timeout }
  const { rows } = await to.query<unknown[]>(query)
  return rows
}

function ignore(): void {}
