import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll } from 'vitest'
import { fullFile, lockedFile, sharedFile } from './file-faults.fixture.ts'
import { dyingDrivers, dyingGuests, dyingReaders, killedWriters, suspendedWriter } from './process-deaths.fixture.ts'
import { schedules } from './store-fault-suite.fixture.ts'
import { StoreProcessPool } from './store-process-pool.fixture.ts'
import { restoredFile } from './store-restores.fixture.ts'

const folder = mkdtempSync(join(tmpdir(), 'millrace-faults-'))
let processes: StoreProcessPool
beforeAll(() => {
  processes = new StoreProcessPool('sqlite')
})
afterAll(async () => {
  await processes.stop()
  rmSync(folder, { recursive: true })
})

schedules({
  name: 'sqlite',
  first: 1,
  processes: () => processes,
  async testStore(random, name) {
    const durability = random.pick(['normal', 'normal', 'full'] as const)
    return { spec: { kind: 'sqlite', path: join(folder, `${name}.db`), durability }, maxLossMs: 0 }
  },
  async inspect({ spec }) {
    const file = new DatabaseSync((spec as { path: string }).path)
    const found = file
      .prepare('PRAGMA integrity_check')
      .all()
      .map(row => Object.values(row)[0])
    file.close()
    return found[0] === 'ok' ? [] : [`the file is damaged: ${found}`]
  },
  kinds: {
    killed: { play: killedWriters, count: 2 },
    zombie: { play: suspendedWriter, count: 1 },
    due: { play: dyingDrivers, count: 1 },
    guests: { play: dyingGuests, count: 1 },
    readers: { play: dyingReaders, count: 1 },
    restored: { play: restoredFile(true), count: 1 },
    putBack: { play: restoredFile(false), count: 2 },
    shared: { play: sharedFile, count: 1 },
    locked: { play: lockedFile, count: 1 },
    full: { play: fullFile, count: 3 },
  },
})
