import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sqliteStore } from '../sqlite/index.ts'
import { schedules } from './suite.fixture.ts'

const folder = mkdtempSync(join(tmpdir(), 'millrace-chaos-'))

schedules({
  name: 'sqlite',
  lanes: 1,
  count: 200,
  first: 301,
  async open(lane) {
    const clock = { time: 0 }
    const handle = () => sqliteStore({ path: join(folder, `${lane}.db`), clock: () => clock.time })
    return { handles: [handle(), handle()], clock }
  },
  async close() {
    rmSync(folder, { recursive: true })
  },
})
