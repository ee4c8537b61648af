import { findDriver } from '../../store/driver-package.ts'
import type { HeartbeatData } from '../../store/heartbeat-messages.ts'
import { HeartbeatThread } from '../../store/heartbeat-thread.ts'
import { startWorker } from '../../store/start-worker.ts'
import type { PlainClientSettings } from './connection.ts'
import { WORKER_SOURCE } from './heartbeat-worker-source.ts'

/** How the thread connects. */
export interface RedisHeartbeatConnection {
  /** Path of the `redis` package. */
  readonly driver: string
  readonly client: PlainClientSettings
  readonly prefix: string
  /** Timeout of a connection or a command, in ms. */
  readonly timeoutMs: number
}

/** Maximum timeout, in ms: a connection that hangs is replaced before the leases expire. */
const MAX_TIMEOUT_MS = 1500

/** The heartbeat of a server. `settingsOf` returns the settings of its connection, or throws if a thread cannot use them. */
export function redisHeartbeat(
  settingsOf: () => PlainClientSettings,
  options: Pick<RedisHeartbeatConnection, 'prefix' | 'timeoutMs'>,
): HeartbeatThread {
  const code = { url: import.meta.url, file: 'heartbeat-worker.ts', source: WORKER_SOURCE }
  return new HeartbeatThread(progress => {
    const driver = findDriver('redis')
    if (driver === undefined) throw new Error('a thread cannot load the package redis, which is not installed')
    const timeoutMs = Math.min(options.timeoutMs, MAX_TIMEOUT_MS)
    const connection = { ...options, driver, client: settingsOf(), timeoutMs }
    const workerData: HeartbeatData<RedisHeartbeatConnection> = { connection, progress }
    return startWorker(code, { workerData, name: 'millrace-heartbeat' })
  })
}
