import { LogError } from './error.ts'
import { memoryStore } from './memory/store.ts'
import type { LogStore } from './store.ts'

/** The store that a URL names: `memory:`, `sqlite:path`, `redis://…` or `postgres://…`. The client of a store is loaded when it is named. */
export async function openStore(url: string): Promise<LogStore> {
  const [prefix = '', name] = /^([a-z]+):/i.exec(url) ?? []
  const scheme = name?.toLowerCase()
  switch (scheme) {
    case 'memory':
      return memoryStore()
    case 'sqlite': {
      const { sqliteStore } = await import('./sqlite/index.ts')
      return sqliteStore({ path: url.slice(prefix.length) })
    }
    case 'redis':
    case 'rediss': {
      const { redisStore } = await loaded('redis', () => import('./redis/index.ts'))
      return redisStore({ url: `${scheme}:${url.slice(prefix.length)}` })
    }
    case 'postgres':
    case 'postgresql': {
      const { postgresStore } = await loaded('pg', () => import('./postgres/index.ts'))
      return postgresStore({ url: `${scheme}:${url.slice(prefix.length)}` })
    }
    default:
      throw new LogError(
        'invalid',
        `store: expected memory:, sqlite:path, redis:// or postgres://, found ${scheme ?? 'no scheme'}`,
      )
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
