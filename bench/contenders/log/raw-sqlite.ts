import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { onCleanup } from '../../harness/cleanup.ts'
import { serviceUrl } from '../../harness/services.ts'
import type { Raw } from './raw.ts'

/** Range of primary keys per log: entries of a log are adjacent and need no further index. */
const ROOM = 2 ** 32

/** One row per entry, one transaction per append, with the journal and flush settings of our store. */
export function rawSqlite(synchronous: 'NORMAL' | 'FULL'): Raw {
  const db = new DatabaseSync(join(serviceUrl('folder'), `raw-${randomUUID()}.db`))
  onCleanup(() => db.close())
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous}`)
  db.exec('CREATE TABLE entries (place INTEGER PRIMARY KEY, body TEXT NOT NULL)')
  const begin = db.prepare('BEGIN IMMEDIATE')
  const insert = db.prepare('INSERT INTO entries (place, body) VALUES (?, ?)')
  const commit = db.prepare('COMMIT')
  const select = db.prepare('SELECT body FROM entries WHERE place > ? AND place < ? ORDER BY place')
  select.setReturnArrays(true)
  const after = (log: number, place: number): string[] =>
    (select.all(place, (log + 1) * ROOM) as unknown as [string][]).map(([body]) => body)

  const heads = new Map<number, number>()
  let notify: ((log: number, texts: readonly string[]) => void) | undefined
  return {
    append(log, texts) {
      const head = heads.get(log) ?? log * ROOM
      begin.run()
      let place = head
      for (const text of texts) insert.run(++place, text)
      commit.run()
      heads.set(log, place)
      notify?.(log, after(log, head))
    },
    read: async log => after(log, log * ROOM),
    async follow(_logs, take) {
      notify = take
    },
  }
}
