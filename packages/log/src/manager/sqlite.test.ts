import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, test } from 'vitest'
import { sqliteStore } from '../stores/sqlite/index.ts'
import { behaviours } from './manager-behaviours.fixture.ts'

const folder = mkdtempSync(join(tmpdir(), 'millrace-manager-'))
afterAll(() => rmSync(folder, { recursive: true }))

describe('a manager on SQLite', () => {
  const path = join(folder, 'log.db')
  for (const { title, run } of behaviours) test(title, () => run({ open: async () => sqliteStore({ path }) }))
})
