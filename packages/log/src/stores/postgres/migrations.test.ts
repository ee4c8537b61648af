import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { postgresStore } from './index.ts'
import { type Server, server } from './postgres-server.fixture.ts'

const run = promisify(execFile)

describe('the migrations', () => {
  let running: Server
  beforeAll(async () => {
    running = await server()
  })
  afterAll(() => running.stop())

  const start = async (schema: string, id: number) => {
    const file = join(import.meta.dirname, 'postgres-starter.fixture.ts')
    const { stdout } = await run(process.execPath, [file, running.url, schema, String(id)])
    return JSON.parse(stdout) as { createdOwn: boolean; shared: boolean }
  }

  it('run once when several processes start on an empty database at once', async () => {
    const reports = await Promise.all([1, 2, 3, 4].map(id => start('raced', id)))
    expect(reports.map(({ createdOwn }) => createdOwn)).toEqual([true, true, true, true])
    expect(reports.filter(({ shared }) => shared)).toHaveLength(1)
    expect(await running.sql('select version from raced.migrations')).toEqual([[1]])
    expect(await running.sql('select count(*) from raced.streams')).toEqual([['5']])
  })

  it('run once when many handles of one process make their first call at once', async () => {
    const stores = Array.from({ length: 12 }, () => postgresStore({ url: running.url, schema: 'handles', poolSize: 2 }))
    const created = await Promise.all(stores.flatMap(store => [store.create('a', null), store.create('b', null)]))
    expect(created.filter(Boolean)).toHaveLength(2)
    expect(await running.sql('select version from handles.migrations')).toEqual([[1]])
    await Promise.all(stores.map(store => store.close()))
  })

  it('keep schemas with any name separate', async () => {
    const schemas = ['one', 'Two "2"', 'three;--', '語'.repeat(21)]
    const stores = schemas.map(schema => postgresStore({ url: running.url, schema, poolSize: 1 }))
    for (const store of stores) expect(await store.create('log', null)).toBe(true)
    await Promise.all(stores.map(store => store.close()))
    const found = await running.sql('select nspname from pg_namespace where nspname = any($1)', [schemas])
    expect(found).toHaveLength(schemas.length)
  })

  it.each(['', 'nul\0', '語'.repeat(22)])('refuse the schema name %j', schema => {
    expect(() => postgresStore({ url: running.url, schema })).toThrow(expect.objectContaining({ code: 'invalid' }))
  })

  it('refuse a schema newer than this code with a clear message', async () => {
    const store = postgresStore({ url: running.url, schema: 'newer', poolSize: 1 })
    await store.create('log', null)
    await store.close()
    await running.sql('insert into newer.migrations (version) values (99)')
    const older = postgresStore({ url: running.url, schema: 'newer', poolSize: 1 })
    const refused = {
      name: 'LogError',
      code: 'invalid',
      message: expect.stringMatching(/expected version 1 or older, found 99: upgrade/),
    }
    await expect(older.create('other', null)).rejects.toMatchObject(refused)
    await expect(older.read('log', { sequence: 0 }, { batches: 1, bytes: 1 })).rejects.toMatchObject(refused)
    await older.close()
  })

  it('add the index of all logs to a schema of an earlier release, whose processes may still start', async () => {
    const first = postgresStore({ url: running.url, schema: 'earlier', poolSize: 1 })
    for (const id of ['a', 'b']) await first.create(id, null)
    await first.close()
    await running.sql('drop index earlier.streams_touched')
    const store = postgresStore({ url: running.url, schema: 'earlier', poolSize: 1 })
    expect((await store.listOldest(9)).streams.map(({ streamId }) => streamId)).toEqual(['a', 'b'])
    const indexes = "select 1 from pg_indexes where schemaname = 'earlier' and indexname = 'streams_touched'"
    expect(await running.sql(indexes)).not.toEqual([])
    // Earlier releases refuse any later version.
    expect(await running.sql('select version from earlier.migrations')).toEqual([[1]])
    await store.close()
  })

  it('need no permission to create if they are up to date', async () => {
    const store = postgresStore({ url: running.url, schema: 'granted', poolSize: 1 })
    await store.create('log', null)
    await running.sql('create role worker login')
    await running.sql('grant usage on schema granted to worker')
    await running.sql('grant select, insert, update, delete on all tables in schema granted to worker')
    const url = running.url.replace('postgres@', 'worker@')
    const worker = postgresStore({ url, schema: 'granted', poolSize: 1 })
    expect(await worker.create('other', null)).toBe(true)
    const stranger = postgresStore({ url, schema: 'ungranted', poolSize: 1 })
    await expect(stranger.create('log', null)).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(/lacks a privilege.*permission denied/),
    })
    await Promise.all([store, worker, stranger].map(each => each.close()))
  })

  it('refuse a database that cannot store all text', async () => {
    await running.sql("create database ascii encoding 'SQL_ASCII' template template0")
    const store = postgresStore({ url: running.url.replace(/postgres$/, 'ascii'), poolSize: 1 })
    const message = expect.stringMatching(/SQL_ASCII.*UTF8/)
    await expect(store.create('log', null)).rejects.toMatchObject({ code: 'invalid', message })
    await store.close()
  })

  it('run again for a handle after its tables were dropped', async () => {
    const store = postgresStore({ url: running.url, schema: 'dropped', poolSize: 1 })
    await store.create('log', null)
    await running.sql('drop schema dropped cascade')
    await expect(store.create('log', null)).rejects.toMatchObject({ name: 'LogError', code: 'unavailable' })
    expect(await store.create('log', null)).toBe(true)
    await store.close()
  })
})
