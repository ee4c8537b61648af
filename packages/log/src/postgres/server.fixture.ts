import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { postgres } from '../../../../scripts/services/postgres.ts'
import type { Service } from '../../../../scripts/services/server.ts'

/** A server for the tests of one file. */
export interface Server extends Service {
  /** Runs a statement as an operator would, beside the store. */
  sql(text: string, values?: unknown[]): Promise<unknown[][]>
  /** Crashes the server, which comes back with what was on its disk. */
  crash(): Promise<void>
}

export async function server(): Promise<Server> {
  const { url, stop } = await postgres()
  const sql = async (text: string, values: unknown[] = []) => {
    const client = new pg.Client({ connectionString: url })
    client.on('error', () => {})
    await client.connect()
    try {
      return (await client.query<unknown[]>({ text, values, rowMode: 'array' })).rows
    } finally {
      await client.end()
    }
  }
  const crash = async () => {
    const client = new pg.Client({ connectionString: url })
    const broken = new Promise<void>(resolve => client.on('error', () => resolve()))
    await client.connect()
    const { rows } = await client.query('select pg_backend_pid() as pid')
    // The death of one backend by a signal makes the server end all others and recover from its log, as after a power cut.
    process.kill(rows[0].pid, 'SIGKILL')
    await broken
    while (
      !(await sql('select 1').then(
        () => true,
        () => false,
      ))
    )
      await pause(20)
  }
  return { url, stop, sql, crash }
}
