import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { postgres } from '../../../../../scripts/services/postgres.ts'
import { upgradeSuite } from './upgrade-suite.fixture.ts'

const run = promisify(execFile)

upgradeSuite({
  start: () => postgres({ settings: { fsync: 'off' } }),
  async setLaterVersion(url) {
    await run('psql', [url, '-qc', 'insert into millrace.migrations (version) values (99)'])
  },
})
