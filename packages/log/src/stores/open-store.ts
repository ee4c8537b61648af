import { LogError } from '../store/log-error.ts'
import type { LogStore } from '../store/log-store.ts'
import { memoryStore } from './memory/store.ts'

const SCHEMES = ['memory', 'sqlite', 'redis', 'rediss', 'postgres', 'postgresql'] as const

/** The scheme of a store's URL; throws where it is none that is known. */
export function schemeOf(url: string): (typeof SCHEMES)[number] {
  const found = /^([a-z]+):/i.exec(url)?.[1]?.toLowerCase()
  const scheme = SCHEMES.find(known => known === found)
  if (scheme !== undefined) return scheme
  const expected = 'expected memory:, sqlite:path, redis:// or postgres://'
  throw new LogError('invalid', `store: ${expected}, found ${found ?? 'no scheme'}`)
}

/** The store that a URL names: `memory:`, `sqlite:path`, `redis://…` or `postgres://…`. The client of a store is loaded when it is named. */
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
      const { redisStore } = await loaded('redis', () => import('./redis/index.ts'))
      return redisStore({ url: `${scheme}:${rest}` })
    }
    case 'postgres':
    case 'postgresql': {
      const { postgresStore } = await loaded('pg', () => import('./postgres/index.ts'))
      return postgresStore({ url: `${scheme}:${rest}` })
    }
  }
}

/** A store whose client is a package of its own, which an application installs if it wants it. */
async function loaded<T>(client: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch (error) {
    if ((error as { code?: string }).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new LogError('invalid', `this store needs the package ${client}: npm install ${client}`, { cause: error })
  }
}
