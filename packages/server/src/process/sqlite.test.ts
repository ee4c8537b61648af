import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { schedules } from './suite.fixture.ts'

const folder = mkdtempSync(join(tmpdir(), 'millrace-follow-'))

schedules({
  name: 'sqlite',
  count: 140,
  lanes: 16,
  url: async () => `sqlite:${join(folder, 'house.db')}`,
  close: async () => rmSync(folder, { recursive: true }),
})
