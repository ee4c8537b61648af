import type { LogStore } from '@millrace/log'
import type { StoreSpec } from './process-messages.fixture.ts'

const stores = {
  sqlite: () => import('@millrace/log/sqlite'),
  redis: () => import('@millrace/log/redis'),
  postgres: () => import('@millrace/log/postgres'),
}

/** Loads what a kind of store needs. */
export async function load(kind: StoreSpec['kind']): Promise<void> {
  await stores[kind]()
}

/** Opens a store. */
export async function openStoreSpec(spec: StoreSpec): Promise<LogStore> {
  switch (spec.kind) {
    case 'sqlite':
      return (await stores.sqlite()).sqliteStore({ path: spec.path })
    case 'redis':
      return (await stores.redis()).redisStore({ url: spec.url, prefix: spec.prefix, timeoutMs: spec.timeoutMs })
    case 'postgres': {
      const { url, schema, timeoutMs } = spec
      return (await stores.postgres()).postgresStore({ url, schema, timeoutMs, poolSize: 2 })
    }
  }
}
