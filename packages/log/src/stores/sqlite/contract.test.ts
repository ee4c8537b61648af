import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, test } from 'vitest'
import { contract, nameOf, type StoreUnderTest } from '../../contract/index.ts'
import { type SqliteOptions, sqliteStore } from './index.ts'

// In memory if the system has such a folder: no case simulates a power loss, and a disk is slow.
const MEMORY = '/dev/shm'
const folder = mkdtempSync(join(existsSync(MEMORY) ? MEMORY : tmpdir(), 'millrace-sqlite-'))
afterAll(() => rmSync(folder, { recursive: true }))

function subjectOf(durability: NonNullable<SqliteOptions['durability']>): StoreUnderTest {
  let ahead = 0
  const path = join(folder, `${durability}.db`)
  const clock = () => Date.now() + ahead
  return {
    timeoutMs: 60_000,
    open: async () => sqliteStore({ path, durability, clock }),
    advance: async ms => {
      ahead += ms
    },
  }
}

// A file has no server to restart. processes.test.ts and test/faults/sqlite.test.ts kill the processes that use it.
const cases = contract.filter(({ needs }) => !needs.includes('restart'))

describe.each(['normal', 'full'] as const)('the SQLite store fulfils the contract, with durability %s', durability => {
  const subject = subjectOf(durability)
  for (const each of cases) test(nameOf(each), () => each.run(subject))
})
