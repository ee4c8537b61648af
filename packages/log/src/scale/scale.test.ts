import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { postgres } from '../../../../scripts/services/postgres.ts'
import { redis } from '../../../../scripts/services/redis.ts'

const run = promisify(execFile)
const folder = mkdtempSync(join(tmpdir(), 'millrace-scale-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Where a backend is, and how it is left. */
const backends: Record<string, () => Promise<{ url: string; stop(): Promise<void> }>> = {
  memory: async () => ({ url: 'memory:', stop: async () => {} }),
  sqlite: async () => ({ url: `sqlite:${join(folder, 'log.db')}`, stop: async () => {} }),
  redis,
  // What is measured is what readers hold, not a disk.
  postgres: () => postgres({ settings: { fsync: 'off' } }),
}

const LOAD = join(import.meta.dirname, 'load.fixture.ts')
const MINUTES = 60_000

describe.each(Object.entries(backends))('law 8, on %s: two million deliveries', (_, start) => {
  let backend: Awaited<ReturnType<typeof start>>
  beforeAll(async () => {
    backend = await start()
  }, MINUTES)
  afterAll(() => backend.stop())

  test.each(['one', 'many'])(
    'to two thousand readers of %s, every tenth slow, in a heap that does not grow',
    async shape => {
      const { stdout } = await run(process.execPath, ['--conditions=@millrace/source', LOAD, backend.url, shape])
      const { delivered, complete, tenth, end } = JSON.parse(stdout) as Record<string, number>
      expect({ delivered, complete }).toEqual({ delivered: 2_000_000, complete: 2000 })
      expect(end).toBeLessThan((tenth as number) * 1.2)
    },
    5 * MINUTES,
  )
})
