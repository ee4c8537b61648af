import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, test } from 'vitest'
import { multiplied } from '../../../../scripts/faults/campaign.ts'
import { contract, nameOf, type Subject } from '../contract/index.ts'
import { type SqliteOptions, sqliteStore } from './index.ts'

// In memory where the system has a folder for it: no case cuts the power, and a disk would take most of the time.
const MEMORY = '/dev/shm'
const folder = mkdtempSync(join(existsSync(MEMORY) ? MEMORY : tmpdir(), 'millrace-sqlite-'))
afterAll(() => rmSync(folder, { recursive: true }))

function subjectOf(durability: NonNullable<SqliteOptions['durability']>): Subject {
  let ahead = 0
  const path = join(folder, `${durability}.db`)
  const clock = () => Date.now() + ahead
  return {
    patience: 60_000,
    open: async () => sqliteStore({ path, durability, clock }),
    advance: async ms => {
      ahead += ms
    },
  }
}

// A file has no server to restart. processes.test.ts and faults/sqlite.test.ts kill the processes that use it.
const cases = contract.filter(({ needs }) => !needs.includes('restart'))

describe('the SQLite store keeps the contract, with durability normal', () => {
  const subject = subjectOf('normal')
  for (const each of cases) test(nameOf(each), () => each.run(subject))
})

/** `full` differs in the thread that writes. Each handle starts one, which is slow: `npm test` samples, `npm run chaos` runs every case. */
const EVERY = multiplied(1) > 1 ? 1 : 3

describe('the SQLite store keeps the contract, with durability full', () => {
  const subject = subjectOf('full')
  for (const [i, each] of cases.entries()) if (i % EVERY === 0) test(nameOf(each), () => each.run(subject))
})
