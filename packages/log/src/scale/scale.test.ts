import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, describe, expect, test } from 'vitest'
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
  postgres,
}

const LOAD = join(import.meta.dirname, 'load.fixture.ts')
const MINUTES = 60_000

describe.each(Object.entries(backends))('law 8, on %s: two million deliveries', (_, start) => {
  test.each(['one', 'many'])(
    'to two thousand readers of %s, every tenth slow, in a heap that does not grow',
    async shape => {
      const { url, stop } = await start()
      try {
        const { stdout } = await run(process.execPath, ['--conditions=@millrace/source', LOAD, url, shape])
        const { delivered, complete, tenth, end } = JSON.parse(stdout) as Record<string, number>
        expect({ delivered, complete }).toEqual({ delivered: 2_000_000, complete: 2000 })
        expect(end).toBeLessThan((tenth as number) * 1.2)
      } finally {
        await stop()
      }
    },
    5 * MINUTES,
  )
})
