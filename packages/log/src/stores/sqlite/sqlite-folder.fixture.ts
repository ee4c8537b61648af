import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, onTestFinished } from 'vitest'
import type { LogStore } from '../../store/log-store.ts'
import { type SqliteOptions, sqliteStore } from './index.ts'

/** A folder for one test file, removed at its end, and stores in it, each closed at the end of its test. */
export function testFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-sqlite-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  return {
    folder,
    newPath: () => join(folder, `${randomUUID()}.db`),
    open(options: SqliteOptions): LogStore {
      const store = sqliteStore(options)
      onTestFinished(() => store.close())
      return store
    },
  }
}

/** The result of SQLite's integrity check: `ok`, or the problems. */
export function integrityOf(path: string): string {
  const db = new DatabaseSync(path)
  try {
    const rows = db.prepare('PRAGMA integrity_check').all()
    return rows.map(row => row['integrity_check']).join('\n')
  } finally {
    db.close()
  }
}

let keys = 0

/** A guest's append with a new key. */
export const guest = () => ({ key: `key-${++keys}`, keep: false, nonce: `nonce-${keys}` })

/** A batch with one entry per text. */
export const batch = (...texts: string[]) => ({ body: JSON.stringify(texts), count: texts.length })

/** More than any test writes. */
export const ALL = { batches: 1_000_000, bytes: 2 ** 30 }
