import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { onCleanup } from '../../harness/cleanup.ts'
import { serviceUrl } from '../../harness/services.ts'
import type { RawLogs } from './raw.ts'

/** Range of primary keys per log: entries of a log are adjacent and need no further index. */
const KEYS_PER_LOG = 2 ** 32

/** One row per entry, one transaction per append, with the journal and flush settings of our store. */
export function rawSqlite(synchronous: 'NORMAL' | 'FULL'): RawLogs {
  const db = new DatabaseSync(join(serviceUrl('folder'), `raw-${randomUUID()}.db`))
  onCleanup(() => db.close())
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous}`)
  db.exec('CREATE TABLE entries (key INTEGER PRIMARY KEY, body TEXT NOT NULL)')
  const begin = db.prepare('BEGIN IMMEDIATE')
  const insert = db.prepare('INSERT INTO entries (key, body) VALUES (?, ?)')
  const commit = db.prepare('COMMIT')
  const select = db.prepare('SELECT body FROM entries WHERE key > ? AND key < ? ORDER BY key')
  select.setReturnArrays(true)
  const after = (log: number, key: number): string[] =>
    (select.all(key, (log + 1) * KEYS_PER_LOG) as unknown as [string][]).map(([body]) => body)

  const heads = new Map<number, number>()
  let notify: ((log: number, texts: readonly string[]) => void) | undefined
  return {
    append(log, texts) {
      const head = heads.get(log) ?? log * KEYS_PER_LOG
      begin.run()
      let key = head
      for (const text of texts) insert.run(++key, text)
      commit.run()
      heads.set(log, key)
      notify?.(log, after(log, head))
    },
    read: async log => after(log, log * KEYS_PER_LOG),
    async follow(_logs, onTexts) {
      notify = onTexts
    },
  }
}
