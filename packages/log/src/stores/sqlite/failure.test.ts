import { chmodSync, closeSync, mkdirSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { startChildProcess } from '../../../../../scripts/faults/process.ts'
import { LogError } from '../../store/log-error.ts'
import type { LogStore } from '../../store/log-store.ts'
import { sqliteStore } from './index.ts'
import { ALL, batch, guest, integrityOf, testFolder } from './sqlite-folder.fixture.ts'

const FIXTURE = fileURLToPath(new URL('sqlite-process.fixture.ts', import.meta.url))
const { folder, newPath, open } = testFolder()

async function failureOf(call: Promise<unknown>): Promise<LogError> {
  const error = await call.then(
    answer => new Error(`answered ${JSON.stringify(answer)}`),
    error => error,
  )
  expect(error).toBeInstanceOf(LogError)
  return error
}

function createFile(path: string, sql: string): string {
  const db = new DatabaseSync(path)
  db.exec(sql)
  db.close()
  return path
}

describe('sqliteStore', () => {
  test.each([':memory:', '', 'file:logs.db', 'file::memory:?cache=shared'])('rejects the path %j', path => {
    expect(() => sqliteStore({ path })).toThrow(expect.objectContaining({ code: 'invalid' }))
    expect(() => sqliteStore({ path })).toThrow('memoryStore()')
  })

  test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])('rejects maxPages of %d', maxPages => {
    expect(() => sqliteStore({ path: newPath(), maxPages })).toThrow(expect.objectContaining({ code: 'invalid' }))
  })

  test('names that are not well-formed Unicode', async () => {
    const store = open({ path: newPath() })
    for (const streamId of ['\ud800', 'a\udfffb']) {
      expect((await failureOf(store.create(streamId, null))).code).toBe('invalid')
      expect((await failureOf(store.create('log', streamId))).code).toBe('invalid')
    }
    expect(await store.create('🙂', null)).toBe(true)
  })
})

describe('calls on a file that cannot be used', () => {
  const cases: [file: string, make: () => string, advice: RegExp][] = [
    ['in a missing folder', () => join(folder, 'absent', 'logs.db'), /create its folder/],
    ['that is a folder', () => folder, /create its folder/],
    [
      'that is not a database',
      () => written('not a database, but long enough to be taken for one'.repeat(100)),
      /not an SQLite/,
    ],
    [
      'with the tables of another application',
      () => createFile(newPath(), 'CREATE TABLE theirs (id)'),
      /a separate file/,
    ],
    [
      'with the application id of another application',
      () => createFile(newPath(), 'PRAGMA application_id = 7; PRAGMA user_version = 1'),
      /a separate file/,
    ],
  ]
  test.each(cases)('fail as unavailable, with advice, for a file %s', async (_, make, advice) => {
    const store = open({ path: make() })
    for (const call of [() => store.create('log', null), () => store.list(null, 1), () => store.restored()]) {
      const error = await failureOf(call())
      expect(error.code).toBe('unavailable')
      expect(error.message).toMatch(advice)
    }
  })

  test('fail as invalid, with advice, for a file of a newer version: no retry can succeed', async () => {
    const store = open({
      path: createFile(written(''), 'PRAGMA application_id = 0x4d494c52; PRAGMA user_version = 99'),
    })
    for (const call of [() => store.create('log', null), () => store.list(null, 1), () => store.restored()]) {
      const error = await failureOf(call())
      expect(error.code).toBe('invalid')
      expect(error.message).toMatch(/upgrade/)
    }
  })

  function written(text: string): string {
    const path = newPath()
    writeFileSync(path, text)
    return path
  }

  test('fail for a database of another application, and leave it unchanged', async () => {
    const path = createFile(newPath(), 'CREATE TABLE theirs (id)')
    await failureOf(open({ path }).create('log', null))
    const db = new DatabaseSync(path)
    expect(db.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'delete' })
    expect(db.prepare('SELECT name FROM sqlite_schema').all()).toEqual([{ name: 'theirs' }])
    db.close()
  })

  test('fail for a file without write permission', async () => {
    const subfolder = join(folder, 'own')
    mkdirSync(subfolder)
    const path = join(subfolder, 'logs.db')
    const store = sqliteStore({ path })
    await store.create('log', null)
    await store.close()
    for (const each of [path, subfolder, folder]) chmodSync(each, each === path ? 0o444 : 0o555)
    const intruder = startChildProcess(FIXTURE, ['intrude', path, 'another'])
    const report = await intruder.event('failed')
    chmodSync(folder, 0o755)
    chmodSync(subfolder, 0o755)
    expect(report).toMatchObject({ code: 'unavailable', cause: expect.any(String) })
    expect(report['message']).toMatch(/give this process write access/)
  })

  test('fail for a damaged file', async () => {
    const path = newPath()
    const store = sqliteStore({ path })
    await store.create('log', null)
    for (let n = 0; n < 50; n++) await store.append('log', batch('x'.repeat(3000)), guest())
    await store.close()
    const file = openSync(path, 'r+')
    for (let page = 1; page < 40; page++) writeSync(file, Buffer.alloc(4000, 7), 0, 4000, page * 4096)
    closeSync(file)
    const error = await failureOf(open({ path }).read('log', { sequence: 0 }, ALL))
    expect(error).toMatchObject({ code: 'unavailable', cause: { errcode: 11 } })
    expect(error.message).toMatch(/restore a backup, then call restored\(\)/)
  })

  test('fail until the file becomes usable', async () => {
    const path = join(folder, 'later', 'logs.db')
    const store = open({ path })
    const woken = new Promise<void>(resolve => void store.watch('log', () => resolve()))
    expect((await failureOf(store.create('log', null))).code).toBe('unavailable')
    mkdirSync(join(folder, 'later'))
    expect(await store.create('log', null)).toBe(true)
    await store.append('log', batch('x'), guest())
    await woken
    await store.close()
    rmSync(join(folder, 'later'), { recursive: true })
  })
})

describe.each(['normal', 'full'] as const)('a full file, with durability %s', durability => {
  const fill = async (store: LogStore, streamId: string, text: string): Promise<number> => {
    for (let count = 0; ; count++) {
      const result = await store.append(streamId, batch(text), guest()).catch(error => error)
      if (!(result instanceof LogError)) continue
      expect(result).toMatchObject({ code: 'unavailable', cause: { errcode: 13 } })
      expect(result.message).toMatch(/raise maxPages/)
      return count
    }
  }

  test('rejects batches that do not fit, keeps acknowledged ones, and works again when there is room', async () => {
    const path = newPath()
    const store = open({ path, durability, maxPages: 100 })
    for (const streamId of ['one', 'two']) await store.create(streamId, null)
    const { version = '' } = (await store.read('two', { sequence: 0 }, ALL)) ?? {}
    const large = 'x'.repeat(150_000)
    await store.append('one', batch(large), guest())
    const count = await fill(store, 'two', 'y'.repeat(3000))
    expect(count).toBeGreaterThan(10)
    // Nothing of a refused append is stored, also in the worker and with a ticket.
    const by = guest()
    const ticket = { ifVersion: version, next: { state: 'moved', due: { at: 'now' as const, program: null } } }
    expect((await failureOf(store.append('two', batch(large), by, ticket))).code).toBe('unavailable')
    const page = await store.read('two', { sequence: 0 }, ALL)
    expect(page).toMatchObject({ head: count, version, ticket: '' })
    expect(page?.batches).toHaveLength(count)
    expect(await store.find('two', by.key)).toBeUndefined()
    expect(await store.due([], 9)).toEqual([])

    expect(await store.remove('one')).toBe(true)
    const first = count + 1
    expect(await store.append('two', batch('z'), by, ticket)).toMatchObject({ outcome: 'appended', first, last: first })
    await store.close()
    expect(integrityOf(path)).toBe('ok')
  })

  test('one append that does not fit does not fail the others of its transaction', async () => {
    const store = open({ path: newPath(), durability, maxPages: 60 })
    await store.create('log', null)
    await store.putBlob('log', 'start the worker', new Uint8Array(140_000))
    const sizes = [10, 190_000, 20, 30, 190_000, 40]
    const results = await Promise.allSettled(sizes.map(size => store.append('log', batch('x'.repeat(size)), guest())))
    expect(results.map(({ status }) => status)).toEqual(sizes.map(size => (size > 1000 ? 'rejected' : 'fulfilled')))
    const page = await store.read('log', { sequence: 0 }, ALL)
    expect(page?.batches.map(({ first, body }) => [first, body.length - 4])).toEqual([
      [1, 10],
      [2, 20],
      [3, 30],
      [4, 40],
    ])
  })
})
