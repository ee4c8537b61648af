import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { onCleanup } from '../../harness/cleanup.ts'
import { serviceUrl } from '../../harness/services.ts'
import { POOL_SIZE } from './ours.ts'
import type { RawLogs } from './raw.ts'

/** One row per entry, one prepared INSERT per append. A follower selects the new rows when it is notified of an append. */
export async function rawPostgres(): Promise<RawLogs> {
  const pool = new pg.Pool({ connectionString: serviceUrl('postgres'), max: POOL_SIZE })
  const table = `raw_${randomUUID().replaceAll('-', '')}`
  onCleanup(async () => {
    await pool.query(`drop table ${table}`)
    await pool.end()
  })
  await pool.query(`create table ${table}
    (log int not null, id bigint not null generated always as identity, body text not null, primary key (log, id))`)

  const inserts = new Map<number, string>()
  const insert = (rows: number): string => {
    const values = () => Array.from({ length: rows }, (_, i) => `($1, $${i + 2})`).join()
    const text = inserts.get(rows) ?? `insert into ${table} (log, body) values ${values()}`
    inserts.set(rows, text)
    return text
  }
  const after = (log: number, id: string) => {
    const text = `select body, id from ${table} where log = $1 and id > $2 order by id`
    return pool.query<[string, string]>({ name: 'after', text, values: [log, id], rowMode: 'array' })
  }
  let changed: ((log: number) => void) | undefined
  return {
    async append(log, texts) {
      await pool.query({ name: `insert-${texts.length}`, text: insert(texts.length), values: [log, ...texts] })
      changed?.(log)
    },
    read: async log => (await after(log, '0')).rows.map(textOf),
    async follow(logs, onTexts) {
      const followers = Array.from({ length: logs }, (_, log) => {
        let last = '0'
        let state: 'idle' | 'reading' | 'again' = 'idle'
        return async () => {
          if (state !== 'idle') {
            state = 'again'
            return
          }
          do {
            state = 'reading'
            const { rows } = await after(log, last)
            last = rows.at(-1)?.[1] ?? last
            onTexts(log, rows.map(textOf))
          } while ((state as string) === 'again')
          state = 'idle'
        }
      })
      changed = log => void followers[log]?.()
    },
  }
}

const textOf = ([body]: [string, string]): string => body
