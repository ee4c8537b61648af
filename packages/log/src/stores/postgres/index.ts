import pg from 'pg'
import { LogError } from '../../store/log-error.ts'
import type { LogStore } from '../../store/log-store.ts'
import { Database } from './database.ts'
import { PostgresStore } from './store.ts'

const DEFAULT_SCHEMA = 'millrace'
const DEFAULT_POOL_SIZE = 10
const DEFAULT_TIMEOUT_MS = 30_000
const MAX_TIMEOUT_MS = 2 ** 31 - 1
const CONNECT_MS = 10_000
const KEEP_ALIVE_MS = 10_000
const MAX_SCHEMA_BYTES = 63

interface CommonOptions {
  /** The schema that holds the tables, made at the first call if it is not there; `millrace` unless said. */
  readonly schema?: string
  /** How many milliseconds a call waits for its answer before it rejects as `unavailable`; 30,000 unless said. */
  readonly timeout?: number
  /**
   * Where to LISTEN for wake-ups from other processes: the URL of a direct connection, if that of the store leads through a transaction pooler
   * (which does not pass notifications on), or false for none. Without LISTEN a watcher is late by up to a second. As the store itself unless said.
   */
  readonly listen?: string | false
  /**
   * What an acknowledged append means; the server's own setting unless said. `on`: it is on the server's disk, and on those of its synchronous replicas
   * if it has some (`synchronous_standby_names`), so that it outlives a crash and a power cut, and a failover to such a replica. `off`: it is in
   * the server's memory: a crash of the server (not of this process) may lose the appends of its last moments, at most three times
   * wal_writer_delay (0.6 s by default), the newest first and never one out of the middle. With asynchronous replicas a failover
   * may lose what they had not received, under either setting. A log that lost acknowledged entries is noticed: its writer gets `regressed`, and a
   * reader who had seen them gets `truncated`. After a backup was put back call `restored()`.
   */
  readonly synchronousCommit?: 'on' | 'off'
}

/** Where the logs are: a URL, or a pool of `pg` that the caller made and ends, whose own wait for a connection holds. */
export type PostgresOptions = CommonOptions &
  (
    | {
        /** `postgres://user:password@host:port/database`, with what `pg` understands after a `?`. */
        readonly url: string
        /** The largest number of connections for statements, 10 unless said; one more listens while somebody watches. */
        readonly poolSize?: number
      }
    | { readonly pool: pg.Pool }
  )

/**
 * A store in a Postgres database, version 15 or later, which any number of processes may share, also behind a transaction pooler. It connects at the first call and then makes
 * its tables. A call waits up to 10 seconds for a connection, then for its answer, and rejects as `unavailable` when none comes.
 */
export function postgresStore(options: PostgresOptions): LogStore {
  const { schema = DEFAULT_SCHEMA, listen, synchronousCommit, timeout = DEFAULT_TIMEOUT_MS } = options
  if (schema === '' || schema.includes('\0') || Buffer.byteLength(schema) > MAX_SCHEMA_BYTES) {
    throw new LogError('invalid', `schema: expected a name of 1 to ${MAX_SCHEMA_BYTES} bytes`)
  }
  if (!(timeout >= 1 && timeout <= MAX_TIMEOUT_MS)) {
    throw new LogError('invalid', `timeout: expected from 1 to ${MAX_TIMEOUT_MS} milliseconds`)
  }
  const pool = 'pool' in options ? options.pool : undefined
  const config = 'pool' in options ? options.pool.options : configOf(options.url, timeout, options.poolSize)
  const database = new Database({ config, pool, schema, timeout })
  const listening = typeof listen === 'string' ? configOf(listen, timeout) : config
  return new PostgresStore({ database, schema, listen: listen === false ? undefined : listening, synchronousCommit })
}

function configOf(url: string, timeout: number, poolSize = DEFAULT_POOL_SIZE): pg.PoolConfig {
  if (!Number.isInteger(poolSize) || poolSize < 1) {
    throw new LogError('invalid', 'poolSize: expected a whole number from 1')
  }
  const config: pg.PoolConfig = {
    connectionString: url,
    max: poolSize,
    connectionTimeoutMillis: Math.min(CONNECT_MS, timeout),
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    fallback_application_name: 'millrace',
    allowExitOnIdle: true,
  }
  if (!/^postgres(ql)?:\/\//.test(url) || !parses(config)) {
    throw new LogError('invalid', 'url: expected postgres://user:password@host:port/database')
  }
  return config
}

// What is wrong with it is not told: the parser's words may hold the password.
function parses(config: pg.ClientConfig): boolean {
  try {
    new pg.Client(config)
    return true
  } catch {
    return false
  }
}
