import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type FaultProxy, proxy } from '../../../../../scripts/faults/proxy.ts'
import { ContractWriter, guest } from '../../contract/writer.ts'
import type { LogStore } from '../../store/log-store.ts'
import { type PostgresOptions, postgresStore } from './index.ts'
import { retryUnavailable, type Server, server, until } from './postgres-server.fixture.ts'

const batch = { body: '["a","b"]', count: 2 }
const HEAD_ONLY = { batches: 0, bytes: 0 }

describe('failures of the connection to Postgres', () => {
  let running: Server
  let streamId: string
  let count = 0
  const ends: (() => Promise<unknown>)[] = []
  const open = (options: Partial<PostgresOptions> = {}) => {
    const store = postgresStore({ url: running.url, poolSize: 2, ...options })
    ends.push(() => store.close())
    return store
  }
  beforeAll(async () => {
    running = await server()
  })
  beforeEach(() => {
    streamId = `log-${++count}`
  })
  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end()
  })
  afterAll(() => running.stop())

  const claimed = async (store: LogStore) => {
    await store.create(streamId, null)
    const claim = await store.claim(streamId, 'me', 60_000, false)
    const page = await store.read(streamId, { sequence: 0 }, HEAD_ONLY)
    if (claim.outcome !== 'claimed' || !page) throw new Error(`expected a claim of the new log, found ${claim.outcome}`)
    return new ContractWriter(store, streamId, claim, { sequence: 0, incarnation: page.incarnation, epoch: '0' })
  }
  /** Holds the lock of the log, so that an append waits inside its transaction. Returns the waiting backend. */
  const locked = async () => {
    const operator = await running.session()
    ends.push(() => operator.end())
    await operator.query('begin')
    await operator.query('select 1 from millrace.streams where key = $1 for update', [streamId])
    const waiting = async () => {
      const text = `select pid from pg_stat_activity where wait_event_type = 'Lock' and application_name = 'millrace'`
      let pid: unknown
      await until(async () => {
        pid = (await running.sql(text))[0]?.[0]
        return pid !== undefined
      })
      return pid
    }
    return { waiting, free: () => operator.query('rollback') }
  }
  const headOf = async () => (await running.sql('select head from millrace.streams where key = $1', [streamId]))[0]?.[0]
  /** A separate user with a setting, and a store with that user. */
  const limited = async (setting: string) => {
    const role = `limited_${count}`
    await running.sql(`create role ${role} login superuser`)
    await running.sql(`alter role ${role} ${setting}`)
    return open({ url: running.url.replace('postgres@', `${role}@`) })
  }

  /** A store through a proxy, with one idle connection. */
  const through = async (faulty: FaultProxy, options: Partial<PostgresOptions> = {}) => {
    const store = open({ url: faulty.url(running.url), poolSize: 1, ...options })
    await retryUnavailable(() => store.find(streamId, 'none'))
    return store
  }

  it('law 5: rejects an append as unavailable when its backend is terminated, and appends it when sent again', async () => {
    const store = open()
    const writer = await claimed(store)
    expect(await writer.append(batch)).toMatchObject({ outcome: 'appended', first: 1, last: 2 })
    const { waiting, free } = await locked()
    const cut = writer.append(batch)
    cut.catch(() => {})
    await running.sql('select pg_terminate_backend($1)', [await waiting()])
    await expect(cut).rejects.toMatchObject({
      name: 'LogError',
      code: 'unavailable',
      message: expect.stringMatching(
        /^postgres 127\.0\.0\.1:\d+\/postgres: append: the server is shutting down.*try again/,
      ),
      cause: { code: '57P01' },
    })
    await free()
    expect(await writer.append(batch)).toMatchObject({ outcome: 'appended', first: 3, last: 4 })
  })

  it('law 5: a repeated append is a duplicate with its sequences after its answer was lost', async () => {
    const faulty = await proxy(running.url)
    ends.push(() => faulty.stop())
    const writer = await claimed(open())
    await writer.append(batch)
    const store = await through(faulty)
    faulty.stall('down')
    const lost = store.append(streamId, batch, writer.by)
    lost.catch(() => {})
    await until(async () => (await headOf()) === '4')
    faulty.cut()
    faulty.resume('down')
    await expect(lost).rejects.toMatchObject({ name: 'LogError', code: 'unavailable' })
    expect(await store.append(streamId, batch, writer.by)).toMatchObject({ outcome: 'duplicate', first: 3, last: 4 })
  })

  it('rejects a call as unavailable after its timeout, and continues', async () => {
    const faulty = await proxy(running.url)
    ends.push(() => faulty.stop())
    const writer = await claimed(open())
    const store = await through(faulty, { timeoutMs: 300 })
    faulty.stall('down')
    await expect(store.append(streamId, batch, writer.by)).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(/timed out, and the call may have taken effect/),
    })
    faulty.resume('down')
    expect(await retryUnavailable(() => store.append(streamId, batch, writer.by))).toMatchObject({ first: 1, last: 2 })
    expect(await headOf()).toBe('2')
  })

  it('names the busy pool when all connections are in use', async () => {
    const config = {
      connectionString: running.url,
      application_name: 'millrace',
      max: 1,
      connectionTimeoutMillis: 1_000,
    }
    const pool = new pg.Pool(config)
    ends.push(() => pool.end())
    const store = open({ pool } as Partial<PostgresOptions>)
    await retryUnavailable(() => store.find(streamId, 'none'))
    const writer = await claimed(store)
    await writer.append(batch)
    const { waiting, free } = await locked()
    const held = writer.append(batch)
    await waiting()
    await expect(store.find(streamId, 'key')).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(/find: timed out waiting for a pooled connection: raise `poolSize`/),
    })
    await free()
    expect(await held).toMatchObject({ outcome: 'appended', first: 3, last: 4 })
  })

  it('names host, port and database of an absent server, without the password', async () => {
    const store = open({ url: 'postgres://me:s3cret@127.0.0.1:1/db' })
    const failure = await store.create(streamId, null).catch(error => error)
    expect(failure).toMatchObject({ name: 'LogError', code: 'unavailable' })
    expect(failure.message).toMatch(/^postgres 127\.0\.0\.1:1\/db: create: cannot connect: .*ECONNREFUSED/)
    expect(`${failure.message} ${failure.cause} ${JSON.stringify(failure)}`).not.toContain('s3cret')
  })

  it('reconnects to a server that comes back', async () => {
    const faulty = await proxy(running.url)
    ends.push(() => faulty.stop())
    const store = open({ url: faulty.url(running.url) })
    faulty.refuse(true)
    await expect(store.create(streamId, null)).rejects.toMatchObject({ code: 'unavailable' })
    faulty.refuse(false)
    expect(await store.create(streamId, null)).toBe(true)
  })

  it.each([
    ['connection limit 0', /no free connections: lower `poolSize`/, '53300', false],
    ['set default_transaction_read_only = on', /read-only replica: use the address of the primary/, '25006', false],
    [
      'set statement_timeout = 100',
      /cancelled the call, which had no effect: try again, or raise statement_timeout/,
      '57014',
      true,
    ],
    ['set lock_timeout = 100', /timed out waiting for a lock: try again/, '55P03', true],
  ])('says what to do for a user with `%s`', async (setting, message, code, lock) => {
    await open().create(streamId, null)
    const store = await limited(setting.replace('connection limit', 'nosuperuser connection limit'))
    const free = lock ? (await locked()).free : undefined
    const expected = { name: 'LogError', code: 'unavailable', message: expect.stringMatching(message), cause: { code } }
    await expect(store.append(streamId, batch, guest())).rejects.toMatchObject(expected)
    await free?.()
  })

  it('tells a wrong user from a wrong database', async () => {
    const unknown = open({ url: running.url.replace(/postgres$/, 'nowhere') })
    const message = expect.stringMatching(/\/nowhere: create: this database does not exist: create it/)
    await expect(unknown.create('a', null)).rejects.toMatchObject({ code: 'unavailable', message })
    const nobody = open({ url: running.url.replace('postgres@', 'nobody@') })
    const refused = expect.stringMatching(/rejected this user/)
    await expect(nobody.create('a', null)).rejects.toMatchObject({ code: 'unavailable', message: refused })
  })

  it('law 1: retries transactions that fail to serialize', async () => {
    await open().create(streamId, null)
    const store = await limited("set default_transaction_isolation = 'repeatable read'")
    const results = await Promise.all(Array.from({ length: 6 }, () => store.append(streamId, batch, guest())))
    expect(results.map(result => 'first' in result && result.first).sort()).toEqual([1, 11, 3, 5, 7, 9])
  })

  it('survives the loss of an idle connection', async () => {
    const store = open({ poolSize: 1 })
    await store.create(streamId, null)
    const text = `select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name = 'millrace' and state = 'idle'`
    expect(await running.sql(text)).toContainEqual([true])
    const failures: unknown[] = []
    await until(() =>
      store.find(streamId, 'key').then(
        () => true,
        error => failures.push(error) > 50,
      ),
    )
    for (const failure of failures) expect(failure).toMatchObject({ name: 'LogError', code: 'unavailable' })
    expect(await store.create(streamId, null)).toBe(false)
  })

  it('rejects malformed arguments and options as invalid', async () => {
    const store = open()
    await store.create(streamId, null)
    const call = store.append(streamId, { body: '["\0"]', count: 1 }, guest())
    await expect(call).rejects.toMatchObject({ name: 'LogError', code: 'invalid' })
    const none = store.append(streamId, { body: '[]', count: 0 }, guest())
    await expect(none).rejects.toMatchObject({ name: 'LogError', code: 'invalid' })
    const fraction = store.read(streamId, { sequence: 0.5 }, HEAD_ONLY)
    await expect(fraction).rejects.toMatchObject({ name: 'LogError', code: 'invalid' })
    for (const after of [
      '',
      'x',
      '1',
      '1-',
      '1-x',
      '-1-1',
      '1-1-1',
      "1-1'",
      `${'9'.repeat(17)}-1`,
      '1-1\n',
      '[1,"a"]',
    ]) {
      await expect(store.list(null, 10, after)).rejects.toMatchObject({ name: 'LogError', code: 'invalid' })
    }
    for (const url of ['', 'redis://localhost', 'postgres//x', 'postgres://me:s3cret@host:99999999/db', '/tmp']) {
      const open = () => postgresStore({ url })
      expect(open).toThrow(expect.objectContaining({ code: 'invalid', message: expect.not.stringContaining('s3cret') }))
    }
    for (const poolSize of [0, -1, 1.5, Number.NaN]) {
      expect(() => postgresStore({ url: running.url, poolSize })).toThrow(expect.objectContaining({ code: 'invalid' }))
    }
  })

  it('close waits for pending calls, and leaves a given pool open', async () => {
    const store = open()
    const writer = await claimed(store)
    const { waiting, free } = await locked()
    const append = writer.append(batch)
    await waiting()
    let closed = false
    const closing = store.close().then(() => {
      closed = true
    })
    await expect(store.find(streamId, 'key')).rejects.toMatchObject({ name: 'LogError', code: 'closed' })
    expect(() => store.watch(streamId, () => {})).toThrow(expect.objectContaining({ code: 'closed' }))
    expect(closed).toBe(false)
    await free()
    expect(await append).toMatchObject({ outcome: 'appended', first: 1, last: 2 })
    await closing
    await store.close()
    const pool = new pg.Pool({ connectionString: running.url, max: 2 })
    ends.push(() => pool.end())
    const poolStore = postgresStore({ pool })
    expect(await poolStore.read(streamId, { sequence: 0 }, HEAD_ONLY)).toMatchObject({ head: 2 })
    await poolStore.close()
    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }])
  })

  it('close leaves no connection on the server', async () => {
    const operator = await running.session()
    ends.push(() => operator.end())
    for (let times = 0; times < 5; times++) {
      const store = open({ poolSize: 4 })
      store.watch(streamId, () => {})
      await Promise.all(Array.from({ length: 4 }, (_, i) => store.create(`${streamId}-${times}-${i}`, null)))
      await store.close()
      const text = `select state, query from pg_stat_activity where application_name = 'millrace'`
      expect((await operator.query(text)).rows).toEqual([])
    }
  })

  it('close ends when the server does not answer', async () => {
    const faulty = await proxy(running.url)
    ends.push(() => faulty.stop())
    const store = await through(faulty)
    faulty.stall()
    await store.close()
  })
})
