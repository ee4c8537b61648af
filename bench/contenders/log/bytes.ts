// Stored size of an entry in each backend, of a log from our writer.
import { ok } from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { LogStore } from '@millrace/log'
import { entryBatches } from '../../fixtures/batches.ts'
import { serviceUrl } from '../../harness/services.ts'
import { type Job, job } from '../../harness/suite.ts'

/** A new store for one log, and its current size. */
interface MeasuredStore {
  store: LogStore
  bytes(): number | Promise<number>
  /** Closes the store. Returns the bytes if they are known only then. */
  end(): Promise<unknown>
}

/** What is counted. */
export type StorageName = 'memory' | 'sqlite' | 'redis' | 'redis-file' | 'postgres'

const stores: Record<StorageName, () => Promise<MeasuredStore>> = {
  memory,
  sqlite,
  redis,
  'redis-file': redisFile,
  postgres,
}

/** Bytes per entry, with `size` entries per append. */
export async function bytesOf(storage: StorageName, size: number, count: number, workIndex: number): Promise<Job> {
  const { StreamManager } = await import('@millrace/log')
  const batches = entryBatches(count, workIndex, size)
  return job(
    async () => {
      const measured = await stores[storage]()
      const manager = new StreamManager({ store: measured.store })
      const writer = await manager.createWriter('log', { runId: 'run-1', agentType: 'writer', step: 1 })
      await writer.commit([{ type: 'start' }])
      const before = { sequence: writer.cursor.sequence, bytes: await measured.bytes() }
      for (const { chunks } of batches) await writer.commit(chunks)
      const entries = writer.cursor.sequence - before.sequence
      await manager.close()
      const bytes = (await measured.bytes()) - before.bytes
      await measured.end()
      return { entries, bytes }
    },
    ({ entries, bytes }) => {
      ok(entries === count, `expected ${count} stored entries, found ${entries}`)
      ok(Number.isFinite(bytes))
    },
    ({ entries, bytes }) => [bytes / entries],
  )
}

/** The JSON of the entries themselves. */
export async function bytesOfJson(size: number, count: number, workIndex: number): Promise<Job> {
  return job(
    () => entryBatches(count, workIndex, size).flatMap(({ texts }) => texts),
    texts => ok(texts.length === count),
    texts => [texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0) / texts.length],
  )
}

async function memory(): Promise<MeasuredStore> {
  const { memoryStore } = await import('@millrace/log')
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const store = memoryStore()
  const bytes = () => {
    collect()
    return process.memoryUsage().heapUsed
  }
  return { store, bytes, end: () => store.close() }
}

async function sqlite(): Promise<MeasuredStore> {
  const { sqliteStore } = await import('@millrace/log/sqlite')
  const { DatabaseSync } = await import('node:sqlite')
  const path = join(serviceUrl('folder'), `bytes-${randomUUID()}.db`)
  const store = sqliteStore({ path })
  const bytes = () => {
    const db = new DatabaseSync(path)
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    db.close()
    return statSync(path).size
  }
  return { store, bytes, end: () => store.close() }
}

async function redis(): Promise<MeasuredStore> {
  const { client, store, end } = await emptyRedis()
  const bytes = async () => {
    let sum = 0
    for (const key of await client.keys('*')) sum += (await client.memoryUsage(key, { SAMPLES: 0 })) ?? 0
    return sum
  }
  return { store, bytes, end }
}

async function redisFile(): Promise<MeasuredStore> {
  const { client, store, end } = await emptyRedis()
  const bytes = async () => Number(/aof_current_size:(\d+)/.exec(await client.info('persistence'))?.[1])
  return { store, bytes, end }
}

/** An unused database of the same server. */
async function emptyRedis() {
  const { createClient } = await import('redis')
  const { redisStore } = await import('@millrace/log/redis')
  const url = `${serviceUrl('redis')}/1`
  const client = await createClient({ url }).connect()
  await client.flushDb()
  const store = redisStore({ url })
  const end = async () => {
    await store.close()
    await client.flushDb()
    await client.close()
  }
  return { client, store, end }
}

async function postgres(): Promise<MeasuredStore> {
  const { default: pg } = await import('pg')
  const { postgresStore } = await import('@millrace/log/postgres')
  const url = serviceUrl('postgres')
  const schema = `bytes_${randomUUID().replaceAll('-', '')}`
  const pool = new pg.Pool({ connectionString: url, max: 1 })
  const store = postgresStore({ url, schema })
  const bytes = async () => {
    const text = `select sum(pg_total_relation_size(c.oid))::int8 as bytes
      from pg_class c where c.relkind = 'r' and c.relnamespace = '${schema}'::regnamespace`
    return Number((await pool.query<{ bytes: string }>(text)).rows[0]?.bytes)
  }
  const end = async () => {
    await store.close()
    await pool.query(`drop schema ${schema} cascade`)
    await pool.end()
  }
  return { store, bytes, end }
}
