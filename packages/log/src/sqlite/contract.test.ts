import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, test } from 'vitest'
import { contract, nameOf, type Subject } from '../contract/index.ts'
import { type SqliteOptions, sqliteStore } from './index.ts'

// In memory, where the system has that: else most of the time goes by while the disk is waited for, and none of the cases cuts the power.
const MEMORY = '/dev/shm'
const folder = mkdtempSync(join(existsSync(MEMORY) ? MEMORY : tmpdir(), 'millrace-sqlite-'))
afterAll(() => rmSync(folder, { recursive: true }))

function subjectOf(durability: NonNullable<SqliteOptions['durability']>): Subject {
  let ahead = 0
  const path = join(folder, `${durability}.db`)
  const clock = () => Date.now() + ahead
  return {
    open: async () => sqliteStore({ path, durability, clock }),
    advance: async ms => {
      ahead += ms
    },
  }
}

for (const durability of ['normal', 'full'] as const) {
  describe(`the SQLite store keeps the contract, with durability ${durability}`, () => {
    const subject = subjectOf(durability)
    // A file has no server to restart: its processes are killed in crash.test.ts.
    for (const each of contract) {
      if (!each.needs.includes('restart')) test(nameOf(each), () => each.run(subject))
    }
  })
}
