import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { postgres } from '../../../../../scripts/services/postgres.ts'
import type { Service } from '../../../../../scripts/services/server.ts'
import { LogError } from '../../store/log-error.ts'

/** A server for the tests of one file. */
export interface Server extends Service {
  /** Runs a statement as an operator would, beside the store. */
  sql(text: string, values?: unknown[]): Promise<unknown[][]>
  /** Another session of the operator's, in which a lock can be held; it rolls back when it ends. */
  session(): Promise<pg.Client>
}

export async function server(): Promise<Server> {
  // Only a power cut loses by it, and none of the tests cuts the power.
  const service = await postgres({ settings: { fsync: 'off' } })
  const session = async () => {
    const client = new pg.Client({ connectionString: service.url, application_name: 'operator' })
    client.on('error', () => {})
    await client.connect()
    return client
  }
  const operator = await session()
  let isConnected = true
  operator.once('end', () => {
    isConnected = false
  })
  const sql = async (text: string, values: unknown[] = []) => {
    // After a crash of the server each statement has a connection of its own.
    const client = isConnected ? operator : await session()
    try {
      return (await client.query<unknown[]>({ text, values, rowMode: 'array' })).rows
    } finally {
      if (client !== operator) await client.end()
    }
  }
  const stop = async () => {
    if (isConnected) await operator.end()
    await service.stop()
  }
  return { ...service, stop, sql, session }
}

/** Asks until the answer is yes; the test's own timeout says when it never comes. */
export async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await pause(15)
}

/** Calls again where no answer came in time: a busy machine may not keep a short one. */
export async function insist<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call()
    } catch (error) {
      if (!(error instanceof LogError) || error.code !== 'unavailable') throw error
    }
  }
}
