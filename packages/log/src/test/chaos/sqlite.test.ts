import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sqliteStore } from '../../stores/sqlite/index.ts'
import { schedules } from './log-schedule-suite.fixture.ts'

const folder = mkdtempSync(join(tmpdir(), 'millrace-chaos-'))

schedules({
  name: 'sqlite',
  storeCount: 1,
  count: 16,
  first: 41,
  async open(index) {
    const clock = { time: 0, steady: 0 }
    const handle = async () => {
      const clocks = { clock: () => clock.time, steadyClock: () => clock.steady }
      const store = sqliteStore({ path: join(folder, `${index}.db`), ...clocks })
      // A large value starts the thread of the store here instead of in a test.
      await store.create('warm-up', null)
      await store.putBlob('warm-up', 'hash', new Uint8Array(256 * 1024))
      await store.remove('warm-up')
      return store
    }
    return { handles: [await handle(), await handle()], clock }
  },
  async close() {
    rmSync(folder, { recursive: true })
  },
})
