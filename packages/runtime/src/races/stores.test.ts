import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { LogStore } from '@millrace/log'
import { postgresStore } from '@millrace/log/postgres'
import { redisStore } from '@millrace/log/redis'
import { sqliteStore } from '@millrace/log/sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { postgres } from '../../../../scripts/services/postgres.ts'
import { redis } from '../../../../scripts/services/redis.ts'
import { planOf } from './plan.fixture.ts'
import { type Handles, realRace } from './real.fixture.ts'

/** How many races on each store, from this seed on. */
const COUNT = Number(process.env['MILLRACE_SCHEDULES'] ?? Math.ceil(25 * Number(process.env['MILLRACE_RUNS'] ?? 1)))
const FIRST = Number(process.env['MILLRACE_SEED'] ?? 1)
/** What a race may take at most, on a machine that has others to do. */
const RACE_MS = 10_000

interface Backend {
  open(): LogStore
  close(): Promise<unknown>
}

const BACKENDS: Readonly<Record<string, () => Promise<Backend>>> = {
  async sqlite() {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-races-'))
    return {
      open: () => sqliteStore({ path: join(folder, 'logs.db') }),
      close: async () => rmSync(folder, { recursive: true }),
    }
  },
  async redis() {
    const { url, stop } = await redis()
    return { open: () => redisStore({ url }), close: stop }
  },
  async postgres() {
    const { url, stop } = await postgres({ settings: { fsync: 'off', synchronous_commit: 'off' } })
    return { open: () => postgresStore({ url, poolSize: 3 }), close: stop }
  },
}

describe.each(Object.keys(BACKENDS))('law 5, on %s: whoever comes at once, exactly one wins', name => {
  let backend: Backend
  let handles: Handles
  beforeAll(async () => {
    backend = await (BACKENDS[name] as () => Promise<Backend>)()
    handles = [backend.open(), backend.open(), backend.open()]
  }, 60_000)
  afterAll(async () => {
    for (const handle of handles) await handle.close()
    await backend.close()
  })

  test(`seeds from ${FIRST}, ${COUNT} of them`, { timeout: 30_000 + COUNT * RACE_MS }, async () => {
    for (let seed = FIRST; seed < FIRST + COUNT; seed++) {
      const plan = planOf(seed)
      expect(await realRace(plan, handles), JSON.stringify(plan)).toEqual([])
    }
  })
})
