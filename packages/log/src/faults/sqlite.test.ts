import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll } from 'vitest'
import { Processes } from './actor.fixture.ts'
import { restoredFile } from './copies.fixture.ts'
import { due, guests, killed, readers, zombie } from './deaths.fixture.ts'
import { full, locked, shared } from './files.fixture.ts'
import { schedules } from './schedule.fixture.ts'

const folder = mkdtempSync(join(tmpdir(), 'millrace-faults-'))
let processes: Processes
beforeAll(() => {
  processes = new Processes('sqlite')
})
afterAll(async () => {
  await processes.stop()
  rmSync(folder, { recursive: true })
})

schedules({
  name: 'sqlite',
  processes: () => processes,
  async ground(random, name) {
    const durability = random.pick(['normal', 'normal', 'full'] as const)
    return { spec: { kind: 'sqlite', path: join(folder, `${name}.db`), durability }, losesMs: 0 }
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
    killed: { play: killed, count: 5 },
    zombie: { play: zombie, count: 2 },
    due: { play: due, count: 2 },
    guests: { play: guests, count: 3 },
    readers: { play: readers, count: 2 },
    restored: { play: restoredFile(true), count: 3 },
    putBack: { play: restoredFile(false), count: 4 },
    shared: { play: shared, count: 4 },
    locked: { play: locked, count: 3 },
    full: { play: full, count: 4 },
  },
})
