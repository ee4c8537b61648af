import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { proxy } from '../../../../../scripts/faults/proxy.ts'
import { ContractWriter, guest } from '../../contract/writer.ts'
import type { LogStore } from '../../store/log-store.ts'
import { type PostgresOptions, postgresStore } from './index.ts'
import { retryUnavailable, type Server, server, until } from './postgres-server.fixture.ts'
import { statementsOf } from './statements.ts'

const batch = { body: '["a"]', count: 1 }
const ALL = { batches: 1000, bytes: 1e9 }

describe('the Postgres store', () => {
  let running: Server
  const ends: (() => Promise<unknown>)[] = []
  const open = (options: Partial<PostgresOptions> = {}) => {
    const store = postgresStore({ url: running.url, poolSize: 2, ...options })
    ends.push(() => store.close())
    return store
  }
  beforeAll(async () => {
    running = await server()
  })
  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end()
  })
  afterAll(() => running.stop())

  const claimed = async (store: LogStore, streamId: string) => {
    await store.create(streamId, null)
    const claim = await store.claim(streamId, 'me', 60_000, false)
    const page = await store.read(streamId, { sequence: 0 }, ALL)
    if (claim.outcome !== 'claimed' || !page) throw new Error(`expected a claim of the new log, found ${claim.outcome}`)
    return new ContractWriter(store, streamId, claim, { sequence: 0, incarnation: page.incarnation, epoch: '0' })
  }

  it('reads a page of the oldest logs by an index', async () => {
    const store = open({ schema: 'many' })
    await store.create('log', null)
    await running.sql(`insert into many.streams (key, incarnation, version, at, created_at, touched_at)
      select 'log-' || n, 'i', 'v', n, n, n from generate_series(1, 5000) as n`)
    await running.sql('analyze many.streams')
    const { listOldest } = statementsOf('many')
    for (const from of ['-1', '2500']) {
      const plan = (await running.sql(`explain ${listOldest}`, [201, from, '0'])).join('\n')
      expect(plan).toContain('Index Scan using streams_touched')
      expect(plan).not.toContain('Seq Scan')
    }
    const { streams } = await store.listOldest(3)
    expect(streams.map(({ streamId }) => streamId)).toEqual(['log-1', 'log-2', 'log-3'])
  })

  it('accepts names that Postgres cannot store, and distinguishes them', async () => {
    const store = open()
    const names = ['nul\0', 'nul', '\ufffd', '\u001b0000', '\0', '\u001bh', '語'.repeat(5000), `${'語'.repeat(5000)}x`]
    for (const name of names) {
      expect(await store.create(name, name)).toBe(true)
      expect(await store.create(name, name)).toBe(false)
      const { version = '' } = (await store.read(name, { sequence: 0 }, ALL)) ?? {}
      const due = { at: 'now' as const, program: name }
      const move = { ifVersion: version, next: { state: 'due', due } }
      expect(await store.append(name, batch, guest(name), move)).toMatchObject({ first: 1, last: 1 })
    }
    for (const name of names) {
      expect(await store.find(name, name)).toEqual({ first: 1, last: 1 })
      expect(await store.due([name], 10)).toEqual([name])
      expect((await store.list(name, 10)).streams.map(({ streamId }) => streamId)).toEqual([name])
      expect(await store.claim(name, name, 60_000, false)).toMatchObject({ outcome: 'claimed' })
      expect(await store.read(name, { sequence: 1 }, ALL)).toMatchObject({ principal: name, lease: { owner: name } })
      await store.putBlob(name, name, Buffer.from(name))
      expect(await store.getBlob(name, name)).toEqual(new Uint8Array(Buffer.from(name)))
    }
    expect(await store.due(names, 100)).toEqual([])
    for (const name of names) expect(await store.remove(name)).toBe(true)
    for (const table of ['batches', 'keys', 'blobs', 'streams']) {
      expect(await running.sql(`select count(*) from millrace.${table}`)).toEqual([['0']])
    }
  })

  it('updates no index for a plain append', async () => {
    const store = open({ poolSize: 1 })
    const writer = await claimed(store, 'hot')
    const updates = async () => {
      const text = `select n_tup_upd::int, n_tup_hot_upd::int from pg_stat_all_tables where relname = 'streams' and schemaname = 'millrace'`
      const [[all, hot] = []] = await running.sql(text)
      return { all: Number(all), hot: Number(hot) }
    }
    // A session reports its statistics at its end or earlier.
    const activity = async (least: number) => {
      await store.close()
      await until(async () => (await updates()).all >= least)
      return updates()
    }
    const before = await updates()
    const appends = 60
    for (let i = 0; i < appends; i++) expect(await writer.append(batch)).toMatchObject({ outcome: 'appended' })
    const after = await activity(before.all + appends)
    expect(after.hot - before.hot).toBeGreaterThanOrEqual(appends * 0.95)
  })

  it('makes an append in one round trip', async () => {
    const between = await proxy(running.url)
    ends.push(() => between.stop())
    const writer = await claimed(open(), 'trips')
    const store = open({ url: between.url(running.url), poolSize: 1 })
    await store.find('trips', 'none')
    // Must complete before any answer returns: a client that waits between statements would block.
    between.stall('down')
    const append = store.append('trips', batch, writer.by)
    await until(
      async () => (await running.sql(`select head from millrace.streams where key = 'trips'`))[0]?.[0] === '1',
    )
    between.resume('down')
    expect(await append).toMatchObject({ outcome: 'appended', first: 1 })
  })

  it('works when every statement runs in another session', async () => {
    const pool = new pg.Pool({ connectionString: running.url, max: 3, maxUses: 1 })
    ends.push(() => pool.end())
    const store = open({ pool, listen: false } as Partial<PostgresOptions>)
    const writer = await claimed(store, 'sessions')
    for (let i = 1; i <= 4; i++) expect(await writer.append(batch)).toMatchObject({ outcome: 'appended', last: i })
    expect(await store.append('sessions', batch, guest())).toMatchObject({ last: 5 })
    expect((await store.read('sessions', { sequence: 0 }, ALL))?.batches).toHaveLength(5)
    expect(await store.renew('sessions', writer.epoch, 1000)).toBeDefined()
  })

  it('works without prepared statements if the session does not keep them, or already has them', async () => {
    const prepared = 'select name, statement, parameter_types::text[] from pg_prepared_statements'
    const config = { connectionString: running.url, max: 1 }
    const [first, second] = [new pg.Pool(config), new pg.Pool(config)]
    ends.push(
      () => first.end(),
      () => second.end(),
    )
    const store = open({ pool: first, listen: false } as Partial<PostgresOptions>)
    const writer = await claimed(store, 'prepared')
    expect(await writer.append(batch)).toMatchObject({ outcome: 'appended', last: 1 })
    const { rows } = await first.query<{ name: string; statement: string; parameter_types: string[] }>(prepared)
    expect(rows.map(({ statement }) => statement).join()).toContain('.append(')

    // Simulates a pooler with another session per statement: prepared names are missing, or exist already.
    for (const { name, statement, parameter_types } of rows) {
      await second.query(`prepare "${name}" (${parameter_types.join(', ')}) as ${statement}`)
    }
    await first.query('deallocate all')
    expect(await writer.append(batch)).toMatchObject({ outcome: 'appended', last: 2 })
    const other = open({ pool: second, listen: false } as Partial<PostgresOptions>)
    expect((await other.read('prepared', { sequence: 0 }, ALL))?.head).toBe(2)
    expect(await other.append('prepared', batch, writer.by)).toMatchObject({ outcome: 'appended', last: 3 })
    expect((await second.query(prepared)).rows).toEqual([])
  })

  it('law 2: waits for replicas with synchronousCommit `on`, and not with `off`', async () => {
    const sync = open({ synchronousCommit: 'on', timeoutMs: 300 })
    const eager = open({ synchronousCommit: 'off' })
    await eager.create('durable', null)
    // Connects before its timeout starts.
    await retryUnavailable(() => sync.find('durable', 'none'))
    // A missing replica: a commit that waits for it never returns.
    await running.sql(`alter system set synchronous_standby_names = 'nobody'`)
    await running.sql('select pg_reload_conf()')
    try {
      await until(async () => (await running.sql('show synchronous_standby_names'))[0]?.[0] === 'nobody')
      expect(await eager.append('durable', batch, guest('a'))).toMatchObject({ outcome: 'appended' })
      const waiting = sync.append('durable', batch, guest('b'))
      waiting.catch(() => {})
      const text = `select 1 from pg_stat_activity where wait_event = 'SyncRep' and application_name = 'millrace'`
      await until(async () => (await running.sql(text)).length === 1)
      await expect(waiting).rejects.toMatchObject({ code: 'unavailable' })
    } finally {
      await running.sql('alter system reset synchronous_standby_names')
      await running.sql('select pg_reload_conf()')
    }
    // The append was in the log, as the message said it may be.
    expect(await eager.append('durable', batch, guest('b'))).toMatchObject({ outcome: 'duplicate', first: 2, last: 2 })
  })

  it('reads each page consistently while others write', async () => {
    const [store, other] = [open(), open()]
    await store.create('position', null)
    let writing = true
    const write = async () => {
      for (let i = 0; i < 60; i++) {
        await other.append('position', batch, guest())
        if (i % 10 === 9) await other.trim('position', i - 5)
      }
      writing = false
    }
    const read = async () => {
      while (writing) {
        const head = await store.read('position', { sequence: 0 }, { batches: 0, bytes: 0 })
        const page = await store.read('position', { sequence: head?.floor ?? 0 }, ALL)
        if (!page || page.truncated) continue
        expect(page.batches.at(-1)?.last ?? page.floor).toBe(page.head)
        for (const [i, { first }] of page.batches.entries()) expect(first).toBe((page.batches[0]?.first ?? 0) + i)
      }
    }
    await Promise.all([write(), read(), read()])
  })
})
