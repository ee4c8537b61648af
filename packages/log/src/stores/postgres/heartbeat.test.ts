import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { keptLease, keptUntilRenewed, renewedSince } from '../kept-lease.fixture.ts'
import { postgresStore } from './index.ts'
import { type Server, server } from './postgres-server.fixture.ts'

let running: Server
beforeAll(async () => {
  running = await server()
})
afterAll(() => running.stop())

const connections = async () => {
  const [[count] = []] = await running.sql(
    "select count(*) from pg_stat_activity where backend_type = 'client backend' and application_name <> 'operator'",
  )
  return Number(count)
}

test('the thread connects with the settings of the URL, and leaves no connection behind', async () => {
  const store = postgresStore({ url: running.url, schema: 'by_url' })
  await keptUntilRenewed(store)
  expect(await connections()).toBeGreaterThan(1)
  await store.close()
  await expect.poll(connections).toBe(0)
})

test('the thread connects with the settings of a pool, which hides its password', async () => {
  await running.sql("create role hidden login superuser password 'secret'")
  const { hostname, port, pathname } = new URL(running.url)
  const pool = new pg.Pool({
    host: hostname,
    port: Number(port),
    database: pathname.slice(1),
    user: 'hidden',
    password: 'secret',
  })
  const store = postgresStore({ pool, schema: 'by_pool' })
  await keptUntilRenewed(store)
  await store.close()
  await pool.end()
})

test('fails if a setting is a function, and names the setting', async () => {
  const pool = new pg.Pool({ connectionString: running.url, password: async () => 'secret' })
  const store = postgresStore({ pool, schema: 'by_function' })
  await store.heartbeat?.ready()
  expect(store.heartbeat?.failure?.message).toContain('the setting password of the connection')
  await store.close()
  await pool.end()
})

test('the thread connects again after its connection was closed, and after a crash of the server', async () => {
  const store = postgresStore({ url: running.url, schema: 'again' })
  const kept = await keptLease(store)
  const { pid: before } = await threadOf(running)
  await running.sql('select pg_terminate_backend($1)', [before])
  await renewedSince(kept)
  expect((await threadOf(running)).pid).not.toBe(before)
  await running.kill()
  await running.restart()
  await renewedSince(kept)
  expect(store.heartbeat?.failure).toBeUndefined()
  await store.close()
})

/** The session of the thread, which is the last one that has renewed leases. */
async function threadOf({ sql }: Server): Promise<{ pid: number }> {
  const [[pid] = []] = await sql(
    "select pid from pg_stat_activity where query like 'with asked%' order by query_start desc limit 1",
  )
  return { pid: Number(pid) }
}

test('a log that another transaction has locked delays the renewal of no other lease', async () => {
  const store = postgresStore({ url: running.url, schema: 'locked' })
  await store.create('waits', null)
  const claim = await store.claim('waits', 'me', 60_000, false)
  const locker = await running.session()
  await locker.query("begin; select from locked.streams where key = 'waits' for no key update")
  let lost = 0
  const epoch = 'epoch' in claim ? claim.epoch : ''
  const calls = { onLost: () => lost++, onRenewed: () => {} }
  const waits = store.heartbeat?.keep({ streamId: 'waits', epoch, ttlMs: 300, maxBlockedMs: 3_600_000, ...calls })
  await keptUntilRenewed(store)
  expect(waits?.until).toBe(Number.NEGATIVE_INFINITY)
  await locker.end()
  await expect.poll(() => waits?.until).toBeGreaterThan(0)
  expect(lost).toBe(0)
  await store.close()
})
