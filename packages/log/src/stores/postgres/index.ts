import pg from 'pg'
import type { LogStore } from '../../store/log-store.ts'
import { createPostgresStore, type PostgresOptions } from './postgres-store.ts'

export type { PostgresOptions } from './postgres-store.ts'

/**
 * Opens a store in a Postgres database (version 15 or later), which any number of processes may share, also behind a
 * transaction pooler. It connects at the first call and then creates its tables. A call waits up to 10 seconds for a
 * connection, then for its answer, and rejects with `unavailable` if none comes.
 *
 * @throws LogError `invalid` if an option is invalid.
 */
export const postgresStore = (options: PostgresOptions): LogStore => createPostgresStore(pg, options)
