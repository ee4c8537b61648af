import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { postgres } from '../../../../../scripts/services/postgres.ts'
import type { Service } from '../../../../../scripts/services/server.ts'
import { LogError } from '../../store/log-error.ts'

/** A server for the tests of one file. */
export interface Server extends Service {
  /** Runs a statement as an operator, beside the store. */
  sql(text: string, values?: unknown[]): Promise<unknown[][]>
  /** Another session of the operator, which can hold a lock. It rolls back when it ends. */
  session(): Promise<pg.Client>
}

export async function server(): Promise<Server> {
  // Only a power cut loses data by it, and no test simulates one.
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
    // After a crash of the server, each statement uses a new connection.
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

/** Polls until the condition holds. The test's timeout is the limit. */
export async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await pause(15)
}

/** Retries while the store is unavailable: a busy machine may exceed a short timeout. */
export async function retryUnavailable<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call()
    } catch (error) {
      if (!(error instanceof LogError) || error.code !== 'unavailable') throw error
    }
  }
}
