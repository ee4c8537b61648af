import type { LogStore } from '../../store/log-store.ts'

/** A serialisable description of the store that a process opens. */
export type StoreSpec =
  | {
      readonly kind: 'sqlite'
      readonly path: string
      readonly durability?: 'normal' | 'full'
      readonly maxPages?: number
    }
  | { readonly kind: 'redis'; readonly url: string; readonly timeoutMs: number }
  | {
      readonly kind: 'postgres'
      readonly url: string
      /** The url to listen at. @default the url */
      readonly listen?: string
      readonly timeoutMs: number
      readonly synchronousCommit: 'on' | 'off'
    }

const stores = {
  sqlite: () => import('../../stores/sqlite/index.ts'),
  redis: () => import('../../stores/redis/index.ts'),
  postgres: () => import('../../stores/postgres/index.ts'),
}

/** Loads the packages of a kind of store. */
export async function load(kind: StoreSpec['kind']): Promise<void> {
  await stores[kind]()
}

/** Opens a store. */
export async function openStoreSpec({ kind, ...options }: StoreSpec): Promise<LogStore> {
  switch (kind) {
    case 'sqlite':
      return (await stores.sqlite()).sqliteStore(options as Of<'sqlite'>)
    case 'redis':
      return (await stores.redis()).redisStore(options as Of<'redis'>)
    case 'postgres':
      return (await stores.postgres()).postgresStore({ ...(options as Of<'postgres'>), poolSize: 2 })
  }
}

type Of<Kind extends StoreSpec['kind']> = Extract<StoreSpec, { kind: Kind }>
