import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { multiplied } from '../../../../../scripts/faults/campaign.ts'
import { postgres } from '../../../../../scripts/services/postgres.ts'
import { redis } from '../../../../../scripts/services/redis.ts'

const run = promisify(execFile)
const folder = mkdtempSync(join(tmpdir(), 'millrace-scale-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

type Service = { url: string; stop(): Promise<void> }

/** The stores, and the number of readers in `npm test`: of one log, and of a log each. `npm run chaos` has `MAX_READERS` of both. */
const backends: Record<string, { start(): Promise<Service>; one?: number; many: number }> = {
  memory: { start: async () => ({ url: 'memory:', stop: async () => {} }), one: 1000, many: 200 },
  sqlite: { start: async () => ({ url: `sqlite:${join(folder, 'log.db')}`, stop: async () => {} }), many: 100 },
  redis: { start: redis, one: 500, many: 100 },
  // The test measures the memory of readers, not the disk.
  postgres: { start: () => postgres({ settings: { fsync: 'off' } }), many: 100 },
}

const LOAD = join(import.meta.dirname, 'delivery-load.fixture.ts')
const MAX_READERS = 2000
const ENTRIES = 1000

describe.each(Object.entries(backends))('law 8, on %s', (_, { start, ...counts }) => {
  let backend: Service
  beforeAll(async () => {
    backend = await start()
  })
  afterAll(() => backend.stop())

  for (const [shape, title] of [
    ['one', 'one log'],
    ['many', 'a log each'],
  ] as const) {
    const readers = multiplied(1) > 1 ? MAX_READERS : counts[shape]
    if (readers === undefined) continue
    test(`the heap does not grow while many readers follow ${title}, every tenth of them slow`, async () => {
      const args = ['--conditions=@millrace/source', LOAD, backend.url, shape, `${readers}`, `${ENTRIES}`]
      const { stdout } = await run(process.execPath, args)
      const { delivered, complete, tenth = 0, end } = JSON.parse(stdout) as Record<string, number>
      expect({ delivered, complete }).toEqual({ delivered: readers * ENTRIES, complete: readers })
      // Measured after a tenth of the entries and at the end.
      expect(end).toBeLessThan(tenth * 1.2)
    })
  }
})
