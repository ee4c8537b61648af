// The stores of the real-time schedules, each with its own server.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { LogStore } from '@millrace/log'
import { postgresStore } from '@millrace/log/postgres'
import { redisStore } from '@millrace/log/redis'
import { sqliteStore } from '@millrace/log/sqlite'
import { postgres } from '../../../../../scripts/services/postgres.ts'
import { redis } from '../../../../../scripts/services/redis.ts'

export interface Backend {
  open(lane: number): LogStore
  close(): Promise<void>
}

export const BACKENDS: Record<'sqlite' | 'redis' | 'postgres', () => Promise<Backend>> = {
  async sqlite() {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-people-'))
    return {
      open: lane => sqliteStore({ path: join(folder, `${lane}.db`) }),
      close: async () => rmSync(folder, { recursive: true }),
    }
  },
  async redis() {
    const server = await redis()
    return {
      open: lane => redisStore({ url: server.url, prefix: `lane${lane}:` }),
      close: () => server.stop(),
    }
  },
  async postgres() {
    // Power failures of the server are covered by other tests.
    const settings = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', autovacuum: 'off' }
    const server = await postgres({ settings })
    return {
      open: lane => postgresStore({ url: server.url, schema: `lane${lane}`, poolSize: 2 }),
      close: () => server.stop(),
    }
  },
}
