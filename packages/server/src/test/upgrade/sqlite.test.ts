import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { upgradeSuite } from './upgrade-suite.fixture.ts'

upgradeSuite({
  async start() {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-upgrade-'))
    return { url: `sqlite:${join(folder, 'sessions.db')}`, stop: async () => rmSync(folder, { recursive: true }) }
  },
  async setLaterVersion(url) {
    const file = new DatabaseSync(url.replace('sqlite:', ''))
    file.exec('PRAGMA user_version = 99')
    file.close()
  },
})
