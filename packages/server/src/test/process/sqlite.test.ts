import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { followSuite } from './follow-suite.fixture.ts'

followSuite({
  name: 'sqlite',
  count: 30,
  first: 1,
  async start() {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-follow-'))
    return { url: `sqlite:${join(folder, 'sessions.db')}`, stop: async () => rmSync(folder, { recursive: true }) }
  },
})
