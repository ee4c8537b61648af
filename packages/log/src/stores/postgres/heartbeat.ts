import type pg from 'pg'
import { findDriver } from '../../store/driver-package.ts'
import type { HeartbeatData } from '../../store/heartbeat-messages.ts'
import { HeartbeatThread } from '../../store/heartbeat-thread.ts'
import { plainSettings } from '../../store/plain-settings.ts'
import { startWorker } from '../../store/start-worker.ts'
import { WORKER_SOURCE } from './heartbeat-worker-source.ts'

/** How the thread connects. */
export interface PostgresHeartbeatConnection {
  /** Path of the `pg` package. */
  readonly driver: string
  readonly config: pg.PoolConfig
  readonly schema: string
  /** Timeout of a statement, in ms. */
  readonly timeoutMs: number
}

/** Maximum timeout, in ms: a connection that hangs is replaced before the leases expire. */
const MAX_TIMEOUT_MS = 1500

/** The settings of a connection. Those of the pool are left out. */
const SETTINGS = [
  'connectionString',
  'host',
  'port',
  'user',
  'password',
  'database',
  'ssl',
  'stream',
  'options',
  'keepAlive',
  'keepAliveInitialDelayMillis',
  'application_name',
  'fallback_application_name',
  'client_encoding',
] as const

/** The heartbeat of a database. It connects with the settings of a connection of `config`. */
export function postgresHeartbeat(
  config: pg.PoolConfig,
  { schema, timeoutMs }: Pick<PostgresHeartbeatConnection, 'schema' | 'timeoutMs'>,
): HeartbeatThread {
  const code = { url: import.meta.url, file: 'heartbeat-worker.ts', source: WORKER_SOURCE }
  return new HeartbeatThread(progress => {
    const driver = findDriver('pg')
    if (driver === undefined) throw new Error('a thread cannot load the package pg, which is not installed')
    const connection = {
      driver,
      config: threadConfigOf(config),
      schema,
      timeoutMs: Math.min(timeoutMs, MAX_TIMEOUT_MS),
    }
    const workerData: HeartbeatData<PostgresHeartbeatConnection> = { connection, progress }
    return startWorker(code, { workerData, name: 'millrace-heartbeat' })
  })
}

/** @throws Error if a setting cannot be copied to a thread. */
function threadConfigOf(config: pg.PoolConfig): pg.PoolConfig {
  // A pool hides its password and the key of its certificate from enumerations.
  const { ssl } = config
  const all = { ...config, password: config.password, ssl: typeof ssl === 'object' ? { ...ssl, key: ssl.key } : ssl }
  const chosen = SETTINGS.flatMap(name => (all[name] === undefined ? [] : [[name, all[name]]]))
  return {
    ...plainSettings(Object.fromEntries(chosen)),
    max: 1,
    connectionTimeoutMillis: MAX_TIMEOUT_MS,
    // An idle connection stays open: leases are renewed all the time.
    idleTimeoutMillis: 0,
  }
}
