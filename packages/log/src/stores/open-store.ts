import { findDriver, loadDriver } from '../store/driver-package.ts'
import { LogError } from '../store/log-error.ts'
import type { LogStore } from '../store/log-store.ts'
import { memoryStore } from './memory/memory-store.ts'
import type { PostgresDriver } from './postgres/database.ts'
import type { RedisDriver } from './redis/connection.ts'

const SCHEMES = ['memory', 'sqlite', 'redis', 'rediss', 'postgres', 'postgresql'] as const

/**
 * The scheme of a store's URL.
 *
 * @throws LogError `invalid` for an unknown scheme.
 */
export function schemeOf(url: string): (typeof SCHEMES)[number] {
  const found = /^([a-z]+):/i.exec(url)?.[1]?.toLowerCase()
  const scheme = SCHEMES.find(known => known === found)
  if (scheme !== undefined) return scheme
  const expected = 'expected memory:, sqlite:path, redis:// or postgres://'
  throw new LogError('invalid', `store: ${expected}, found ${found ?? 'no scheme'}`)
}

/**
 * Opens the store of a URL: `memory:`, `sqlite:path`, `redis://…` or `postgres://…`. The driver of a store is loaded
 * on demand.
 *
 * @throws LogError `invalid` for an unknown scheme, or if the driver is not installed.
 */
export async function openStore(url: string): Promise<LogStore> {
  const scheme = schemeOf(url)
  const rest = url.slice(scheme.length + 1)
  switch (scheme) {
    case 'memory':
      return memoryStore()
    case 'sqlite': {
      const { sqliteStore } = await import('./sqlite/index.ts')
      return sqliteStore({ path: rest })
    }
    case 'redis':
    case 'rediss': {
      const { createRedisStore } = await import('./redis/redis-store.ts')
      return createRedisStore(driverOf<RedisDriver>('redis', scheme), { url: `${scheme}:${rest}` })
    }
    case 'postgres':
    case 'postgresql': {
      const { createPostgresStore } = await import('./postgres/postgres-store.ts')
      return createPostgresStore(driverOf<PostgresDriver>('pg', scheme), { url: `${scheme}:${rest}` })
    }
  }
}

/**
 * Loads the package of a driver. An application that wants the driver in its bundle imports `@millrace/log/redis` or
 * `@millrace/log/postgres`.
 */
function driverOf<Driver>(name: string, scheme: string): Driver {
  const path = findDriver(name)
  if (path !== undefined) return loadDriver<Driver>(path)
  const message = `openStore: ${scheme}: needs the package ${name}, which is not installed: run npm install ${name}`
  throw new LogError('invalid', message)
}
