import { statSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test, vi } from 'vitest'
import type { LogStore, TicketMove } from '../../store/log-store.ts'
import { ALL, batch, guest, integrityOf, testFolder } from './sqlite-folder.fixture.ts'

const { newPath, open } = testFolder()

test('creates files that only their owner can read, and keeps the mode of a file that exists', async () => {
  const [created, existing] = [newPath(), newPath()]
  writeFileSync(existing, '', { mode: 0o640 })
  for (const path of [created, existing]) await open({ path }).create('log', null)
  const modesOf = (path: string) => ['', '-wal', '-shm'].map(suffix => statSync(path + suffix).mode & 0o777)
  expect(modesOf(created)).toEqual([0o600, 0o600, 0o600])
  expect(modesOf(existing)).toEqual([0o640, 0o640, 0o640])
})

describe('list', () => {
  test('rejects a token that is not from an earlier page', async () => {
    const store = open({ path: newPath(), clock: () => 1_700_000_000_000 })
    for (const id of ['a', 'b', 'c']) await store.create(id, 'ann')
    const { next } = await store.list('ann', 1)
    const again = await store.list('ann', 9, next ?? '')
    expect(again.streams.map(({ streamId }) => streamId)).toEqual(['b', 'c'])
    const [time = '', name = ''] = (next ?? '').split(':')
    const hostile = ['', ':', time, `0${next}`, `${next}=`, `${next} `, `${time}:${name}B`, `${name}:${time}`]
    const numbers = ['-', 'NaN:', '1e9:', '0x10:', 'Infinity:', `${'9'.repeat(400)}:YQ`, `${time}.0:${name}`, '-0:YQ']
    const texts = [`${time}:/w`, `${time}:_w`, "' OR 1=1 --", '\0', `${time}:${'é'}`, 'x'.repeat(1_000_000)]
    for (const token of [...hostile, ...numbers, ...texts]) {
      await expect(store.list('ann', 9, token)).rejects.toMatchObject({ code: 'invalid' })
    }
  })
})

describe('listOldest', () => {
  const planOf = (path: string) => {
    const db = new DatabaseSync(path)
    try {
      return db
        .prepare('EXPLAIN QUERY PLAN SELECT id FROM streams WHERE touched >= 1 ORDER BY touched, id LIMIT 1')
        .all()
        .map(({ detail }) => detail)
        .join()
    } finally {
      db.close()
    }
  }

  test('adds its index to a file of an earlier release, which other processes have open', async () => {
    const path = newPath()
    const earlier = open({ path })
    await earlier.create('a', null)
    const db = new DatabaseSync(path)
    db.exec('DROP INDEX streams_touched')
    db.close()
    expect(planOf(path)).not.toContain('streams_touched')
    const store = open({ path })
    expect((await store.listOldest(9)).streams).toMatchObject([{ streamId: 'a' }])
    expect(planOf(path)).toContain('streams_touched')
    await earlier.create('b', null)
    expect((await store.listOldest(9)).streams).toMatchObject([{ streamId: 'a' }, { streamId: 'b' }])
    expect(integrityOf(path)).toBe('ok')
  })

  test('adds its index after another process has released its lock', async () => {
    const path = newPath()
    const earlier = open({ path })
    await earlier.create('a', null)
    const db = new DatabaseSync(path)
    db.exec('DROP INDEX streams_touched; BEGIN IMMEDIATE')
    const listed = open({ path }).listOldest(9)
    setTimeout(() => db.exec('COMMIT'), 50)
    expect((await listed).streams).toMatchObject([{ streamId: 'a' }])
    db.close()
    expect(planOf(path)).toContain('streams_touched')
  })

  test('adds its columns to a file of an earlier release, whose leases end by the wall clock', async () => {
    const path = newPath()
    const earlier = open({ path })
    await earlier.create('a', null)
    await earlier.create('b', null)
    await earlier.close()
    const db = new DatabaseSync(path)
    db.exec('ALTER TABLE streams DROP COLUMN ttl; ALTER TABLE streams DROP COLUMN ttl_epoch')
    let now = 1_000_000
    const store = open({ path, clock: () => now })
    // A claim of the earlier release, before the columns exist, and after it.
    const claimAsBefore = (name: string) =>
      db.exec(`UPDATE streams SET epochs = 9, epoch = '9-x', owner = 'o', until = ${now + 50} WHERE name = '${name}'`)
    claimAsBefore('a')
    expect(await store.claim('b', 'me', 3000, false)).toMatchObject({ outcome: 'claimed' })
    claimAsBefore('b')
    db.close()
    for (const name of ['a', 'b']) {
      expect(await store.claim(name, 'me', 3000, false)).toMatchObject({ outcome: 'busy', owner: 'o' })
    }
    now += 50
    for (const name of ['a', 'b']) {
      expect(await store.claim(name, 'me', 3000, false)).toMatchObject({ outcome: 'claimed' })
    }
    expect(integrityOf(path)).toBe('ok')
  })

  test('takes no lease over that another process with a clock behind renews', async () => {
    const path = newPath()
    const clock = { ms: 1_000_000 }
    const store = open({ path, clock: () => clock.ms })
    const ahead = open({ path, clock: () => clock.ms + 60_000 })
    await store.create('a', null)
    const claim = await store.claim('a', 'me', 3000, false)
    const epoch = 'epoch' in claim ? claim.epoch : ''
    for (let n = 0; n < 10; n++) {
      expect(await ahead.claim('a', 'other', 3000, false)).toMatchObject({ outcome: 'busy', owner: 'me' })
      clock.ms += 2999
      await store.renew('a', epoch, 3000)
    }
    const busy = await ahead.claim('a', 'other', 3000, false)
    expect('until' in busy && busy.until - busy.clock).toBe(3000)
    clock.ms += 3000
    expect(await ahead.claim('a', 'other', 3000, false)).toMatchObject({ outcome: 'claimed' })
  })

  test('takes no lease over right after the file was locked for longer than it, so that live processes can renew', async () => {
    let [now, elapsedMs] = [1000, 0]
    const started = performance.now()
    vi.spyOn(performance, 'now').mockImplementation(() => started + elapsedMs)
    const path = newPath()
    const [owner, store] = [1, 2].map(() => open({ path, clock: () => now })) as [LogStore, LogStore]
    await owner.create('log', null)
    await owner.claim('log', 'owner', 500, false)
    expect((await store.claim('log', 'me', 500, false)).outcome).toBe('busy')
    const locker = new DatabaseSync(path)
    locker.exec('BEGIN IMMEDIATE')
    const waiting = store.create('other', null)
    now += 2000
    elapsedMs += 2000
    locker.close()
    await waiting
    expect((await store.claim('log', 'me', 500, false)).outcome).toBe('busy')
    elapsedMs += 3001
    expect((await store.claim('log', 'me', 500, false)).outcome).toBe('claimed')
    vi.restoreAllMocks()
  })

  test('works without its index on a full file', async () => {
    const path = newPath()
    const earlier = open({ path })
    await earlier.create('a', null)
    const db = new DatabaseSync(path)
    db.exec('DROP INDEX streams_touched; VACUUM')
    const { page_count: maxPages } = db.prepare('PRAGMA page_count').get() as { page_count: number }
    db.close()
    const store = open({ path, maxPages })
    expect((await store.listOldest(9)).streams).toMatchObject([{ streamId: 'a' }])
    expect(planOf(path)).not.toContain('streams_touched')
  })
})

describe('append', () => {
  test('rejects invalid arguments as invalid', async () => {
    const store = open({ path: newPath() })
    await store.create('log', null)
    const lastAcked = { sequence: 0, incarnation: 'i', epoch: '0' }
    for (const count of [0, -1, 1.5, Number.NaN]) {
      await expect(store.append('log', { body: '[]', count }, guest())).rejects.toMatchObject({ code: 'invalid' })
    }
    for (const counter of [0, -1, 0.5, Number.NaN]) {
      const by = { epoch: 'e', counter, lastAcked }
      await expect(store.append('log', batch('a'), by)).rejects.toMatchObject({ code: 'invalid' })
    }
  })

  test('reports a log that is full because its sequences are used up', async () => {
    const store = open({ path: newPath() })
    await store.create('log', null)
    const max = 2 ** 32 - 1
    await store.append('log', { body: '[]', count: max - 1 }, guest())
    await expect(store.append('log', batch('a', 'b'), guest())).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(/another log/),
    })
    expect(await store.append('log', batch('last'), guest())).toMatchObject({ outcome: 'appended', last: max })
    const page = await store.read('log', { sequence: max - 1 }, ALL)
    expect(page).toMatchObject({ head: max, batches: [{ first: max, last: max }] })
    await store.create('next', null)
    expect(await store.read('next', { sequence: 0 }, ALL)).toMatchObject({ head: 0, batches: [] })
  })

  test('the writer state of a log survives guests, a trim to the head and another process', async () => {
    const path = newPath()
    const store = open({ path })
    await store.create('log', null)
    const claim = await store.claim('log', 'me', 60_000, false)
    const { incarnation = '' } = (await store.read('log', { sequence: 0 }, ALL)) ?? {}
    if (claim.outcome !== 'claimed') throw new Error(claim.outcome)
    const { epoch } = claim
    const first = { epoch, counter: 1, lastAcked: { sequence: 0, incarnation, epoch: '0' } }
    await store.append('log', batch('a', 'b'), first)
    for (const text of ['c', 'd']) await store.append('log', batch(text), guest())
    await store.trim('log', 4)
    const other = open({ path })
    const again = await other.append('log', batch('a', 'b'), first)
    expect(again).toMatchObject({ outcome: 'duplicate', first: 1, last: 2 })
    const second = { epoch, counter: 2, lastAcked: { sequence: 2, incarnation, epoch } }
    expect(await other.append('log', batch('e'), second)).toMatchObject({ outcome: 'appended', first: 5 })
    expect(await store.append('log', batch('a', 'b'), first)).toEqual({ outcome: 'fenced' })
  })
})

describe('due', () => {
  const isDue = (program: string | null): TicketMove['next'] => ({ state: '', due: { at: 'now', program } })

  test('lists the logs that are due longest first, of all programs', async () => {
    let now = 1000
    const store = open({ path: newPath(), clock: () => now })
    for (const [id, program] of [
      ['a', 'x'],
      ['b', 'y'],
      ['c', null],
      ['d', 'x'],
    ] as const) {
      await store.create(id, null)
      const { version = '' } = (await store.read(id, { sequence: 0 }, ALL)) ?? {}
      await store.append(id, batch('x'), guest(), { ifVersion: version, next: isDue(program) })
      now++
    }
    await store.claim('a', 'me', 500, false)
    expect(await store.due(['x', 'y'], 9)).toEqual(['b', 'c', 'd'])
    expect(await store.due(['x', 'y'], 2)).toEqual(['b', 'c'])
    now += 500
    expect(await store.due(['x', 'x', 'y'], 9)).toEqual(['b', 'c', 'd', 'a'])
    expect(await store.due([], Number.MAX_SAFE_INTEGER)).toEqual(['c'])
    expect(await store.due(['x'], 0)).toEqual([])
  })

  test('observes the leases of a dead process also beyond the limit', async () => {
    let now = 1000
    const path = newPath()
    const dead = open({ path, clock: () => now })
    const ids = ['a', 'b', 'c', 'd']
    for (const id of ids) {
      await dead.create(id, null)
      const { version = '' } = (await dead.read(id, { sequence: 0 }, ALL)) ?? {}
      await dead.append(id, batch('x'), guest(), { ifVersion: version, next: isDue('x') })
      await dead.claim(id, 'dead', 500, false)
    }
    now += 10_000
    const store = open({ path, clock: () => now })
    expect(await store.due(['x'], 1)).toHaveLength(1)
    now += 500
    for (const id of ids) expect((await store.claim(id, 'me', 500, false)).outcome).toBe('claimed')
  })
})

describe('blobs', () => {
  test('blobs are shared by a log and its forks, and removed with the last of them', async () => {
    const store = open({ path: newPath(), maxPages: 400 })
    await store.create('source', null)
    await store.putBlob('source', 'hash', new Uint8Array(1_000_000).fill(7))
    const fork = { principal: null, ticket: { state: '', due: { at: null, program: null } }, closing: null }
    // The file has no room to store the bytes twice.
    for (const target of ['one', 'two']) expect(await store.fork('source', 0, target, fork)).toBe('forked')
    for (const removedLog of ['source', 'one']) {
      await store.remove(removedLog)
      expect(await store.getBlob(removedLog, 'hash')).toBeUndefined()
      expect((await store.getBlob('two', 'hash'))?.every(byte => byte === 7)).toBe(true)
    }
    await store.remove('two')
    await store.create('next', null)
    await store.putBlob('next', 'another', new Uint8Array(1_000_000))
    expect(await store.getBlob('next', 'another')).toHaveLength(1_000_000)
  })
})

describe('watch', () => {
  test('wakes only watchers of the log that another handle changed', async () => {
    const path = newPath()
    const [store, other] = [open({ path }), open({ path })]
    const ids = Array.from({ length: 600 }, (_, n) => `log-${n}`)
    for (const id of [...ids, 'last']) await store.create(id, null)
    const woken: string[] = []
    let acknowledge = () => {}
    for (const id of ids) store.watch(id, () => woken.push(id))
    const wait = () => new Promise<void>(resolve => (acknowledge = resolve))
    store.watch('last', () => acknowledge())
    for (const round of [1, 2]) {
      await other.append(`log-${300 + round}`, batch('x'), guest())
      const seen = wait()
      // Logs are polled in the order of their first watch, so this one shows that the others were polled.
      await other.append('last', batch('x'), guest())
      await seen
    }
    expect(woken).toEqual(['log-301', 'log-302'])
  })

  test('wakes once and at once for a change by the same handle', async () => {
    const store = open({ path: newPath(), durability: 'full' })
    await store.create('log', null)
    let wakes = 0
    const stop = store.watch('log', () => wakes++)
    for (let n = 1; n <= 3; n++) {
      await store.append('log', batch('x'), guest())
      expect(wakes).toBe(n)
    }
    stop()
    await store.append('log', batch('x'), guest())
    expect(wakes).toBe(3)
  })
})
