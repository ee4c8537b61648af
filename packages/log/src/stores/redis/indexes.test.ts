import fc from 'fast-check'
import * as redis from 'redis'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { multiplied } from '../../../../../scripts/faults/campaign.ts'
import { batch, guest, move } from '../../contract/writer.ts'
import type { LogStore } from '../../store/log-store.ts'
import { Connection, serverAt } from './connection.ts'
import { redisStore } from './index.ts'
import { Indexes } from './indexes.ts'
import { Keys } from './keys.ts'
import { headOf, type Server, server } from './redis-server.fixture.ts'

let running: Server
beforeAll(async () => {
  running = await server()
})
afterAll(() => running.stop())

let prefixes = 0

function open(prefix = `test-${++prefixes}:`) {
  const store = redisStore({ url: running.url, prefix })
  onTestFinished(() => store.close())
  /** Reads and changes an index as an operator. */
  const index = (name: string) => `${prefix}{index}:${name}`
  const members = (name: string) => running.send('ZRANGE', index(name), '0', '-1')
  return { store, prefix, index, members }
}

const DUE = { at: 'now', program: 'p' } as const

async function moveTo(store: LogStore, streamId: string, state: string, due: typeof DUE | null): Promise<void> {
  const { version } = await headOf(store, streamId)
  await store.append(streamId, batch('a'), guest(), move(version, state, due ?? { at: null, program: null }))
}

describe('after the death of a process', () => {
  test('a dirty log that did not change leaves the candidates after the next call', async () => {
    const { store, index, members } = open()
    await store.create('log', 'ann')
    for (const name of ['log', 'gone']) {
      await running.send('ZADD', index('marks'), `${await running.send('INCR', index('count'))}`, name)
    }
    expect(await store.due(['p'], 9)).toEqual([])
    expect((await store.list('ann', 9)).streams.map(({ streamId }) => streamId)).toEqual(['log'])
    expect([await members('marks'), await members('due:p'), await members('list:ann')]).toEqual([[], [], ['log']])
  })

  test('every caller finds a log that changed and whose index entries were not updated', async () => {
    const { store, prefix, index } = open()
    await store.create('log', 'ann')
    await moveTo(store, 'log', 's', DUE)
    await store.due(['p'], 9)
    // The state right after the append.
    await running.send('ZADD', index('marks'), `${await running.send('INCR', index('count'))}`, 'log')
    await running.send('DEL', index('due:p'), index('list:ann'), index('where'))
    const other = open(prefix).store
    const [due, list] = await Promise.all([store.due(['p'], 9), other.list('ann', 9)])
    expect([due, list.streams.map(({ streamId }) => streamId)]).toEqual([['log'], ['log']])
    expect(await other.due(['p'], 9)).toEqual(['log'])
  })

  test('one call updates the index entries of hundreds of dirty logs', async () => {
    const { store, index, members } = open()
    const names = Array.from({ length: 450 }, (_, i) => `log-${i}`)
    await Promise.all(names.map(name => store.create(name, 'ann')))
    await Promise.all(names.map(name => moveTo(store, name, 's', DUE)))
    await store.due([], 1)
    await running.send('DEL', index('due:p'), index('list:ann'), index('where'))
    await Promise.all(names.map(async (name, i) => running.send('ZADD', index('marks'), `${i + 1}`, name)))
    expect((await store.due(['p'], 999)).length).toBe(450)
    expect(await members('marks')).toEqual([])
    const listed = []
    for (let next: string | undefined; ; ) {
      const page = await store.list('ann', 70, next)
      listed.push(...page.streams.map(({ streamId }) => streamId))
      if (page.next === null) break
      next = page.next
    }
    expect(listed.toSorted()).toEqual(names.toSorted())
  })

  test('restored rebuilds a lost index', async () => {
    const { store, prefix } = open()
    await store.create('log', 'ann')
    await moveTo(store, 'log', 's', DUE)
    await store.due([], 1)
    for (const key of (await running.send('KEYS', `${prefix}{index}:*`)) as string[]) await running.send('DEL', key)
    expect(await store.restored()).toBe(1)
    expect(await store.due(['p'], 9)).toEqual(['log'])
    expect((await store.list('ann', 9)).streams).toHaveLength(1)
  })
})

test('a read from before a change leaves the log dirty', async () => {
  const { store, prefix, index } = open()
  await store.create('log', null)
  const { version } = await headOf(store, 'log')
  await store.append('log', batch('a'), guest(), move(version, 's', { at: null, program: 'p' }))
  await store.due([], 1)
  await running.send('ZADD', index('marks'), `${await running.send('INCR', index('count'))}`, 'log')
  const connection = new Connection(serverAt(redis, running.url, 5_000))
  onTestFinished(() => connection.close())
  // A process that is slow after its read.
  const slow: Pick<Connection, 'run' | 'send' | 'transaction'> = {
    run: (...args) => connection.run(...args),
    transaction: commands => connection.transaction(commands),
    async send(args) {
      const reply = await connection.send(args)
      if (args[0] === 'HMGET') {
        await moveTo(store, 'log', 's', DUE)
        expect(await store.due(['p'], 9)).toEqual(['log'])
      }
      return reply
    },
  }
  await new Indexes(slow, new Keys(prefix), () => {}).updateDirty()
  expect(await store.due(['p'], 9)).toEqual(['log'])
})

describe('due with leases', () => {
  test('a log becomes due earlier after a renewal that shortens the lease, and after a takeover with a shorter one', async () => {
    const { store } = open()
    await store.create('log', null)
    await moveTo(store, 'log', 's', DUE)
    const claim = await store.claim('log', 'a', 3_600_000, false)
    if (claim.outcome !== 'claimed') throw new Error(claim.outcome)
    expect(await store.due(['p'], 9)).toEqual([])
    await store.renew('log', claim.epoch, 0)
    expect(await store.due(['p'], 9)).toEqual(['log'])
    await store.claim('log', 'b', 3_600_000, false)
    expect(await store.due(['p'], 9)).toEqual([])
    await store.claim('log', 'c', 0, true)
    expect(await store.due(['p'], 9)).toEqual(['log'])
  })

  test('a leased log is not read by every due call', async () => {
    const { store, index } = open()
    await store.create('log', null)
    await moveTo(store, 'log', 's', DUE)
    const claim = await store.claim('log', 'a', 3_600_000, false)
    if (claim.outcome !== 'claimed') throw new Error(claim.outcome)
    expect(await store.due(['p'], 9)).toEqual([])
    expect(Number(await running.send('ZSCORE', index('due:p'), 'log'))).toBe(claim.until)
  })
})

test.each([
  '',
  'x',
  '1',
  '1.',
  '.log',
  '-1.log',
  '1e9.log',
  '99999999999999999.log',
  '1.a b',
  '1.%',
  '1.%00',
  '1.a%0041',
  '[1,"log"]',
])('list refuses the token %j', async token => {
  const { store } = open()
  const listResult = await store.list(null, 9, token).then(
    page => page.streams,
    error => error.code,
  )
  // The log without a name is written as `%`.
  expect(listResult).toEqual(token === '1.%' ? [] : 'invalid')
})

test('indexes agree with the logs after any sequence of concurrent calls', async () => {
  const streams = ['a', 'b', 'c'] as const
  const stream = fc.constantFrom(...streams)
  const handle = fc.constantFrom(0, 1, 2)
  const kind = fc.constantFrom(
    'create',
    'due',
    'rest',
    'claim',
    'takeover',
    'release',
    'remove',
    'fork',
    'list',
    'ask',
    'restored',
  )
  const steps = fc.array(fc.array(fc.record({ stream, handle, kind }), { minLength: 1, maxLength: 6 }), {
    maxLength: 12,
  })
  await fc.assert(
    fc.asyncProperty(steps, async rounds => {
      const { store, prefix } = open()
      const handles = [store, open(prefix).store, open(prefix).store]
      const epochs = new Map<string, string>()
      const run = async (at: LogStore, streamId: string, operation: string): Promise<unknown> => {
        const page = await at.read(streamId, { sequence: 0 }, { batches: 0, bytes: 1 })
        const program = `program-${streamId}`
        if (operation === 'create') return at.create(streamId, streamId === 'a' ? null : 'ann')
        if (operation === 'remove') return at.remove(streamId)
        if (operation === 'restored') return at.restored()
        if (operation === 'list') return at.list('ann', 2)
        if (operation === 'ask') return at.due(['program-a', 'program-b'], 1)
        if (operation === 'release') return at.release(streamId, epochs.get(streamId) ?? 'none')
        if (operation === 'fork') {
          const ticket = { state: 'due', due: { at: 'now', program } } as const
          return at.fork('a', 0, streamId, { principal: 'ann', ticket, closing: null })
        }
        if (page === undefined) return undefined
        if (operation === 'claim' || operation === 'takeover') {
          const claim = await at.claim(streamId, 'owner', 3_600_000, operation === 'takeover')
          return claim.outcome === 'claimed' && epochs.set(streamId, claim.epoch)
        }
        const due = operation === 'due' ? ({ at: 'now', program } as const) : { at: null, program }
        return at.append(streamId, batch('a'), guest(), move(page.version, operation, due))
      }
      for (const round of rounds) {
        await Promise.all(round.map(step => run(handles[step.handle] as LogStore, step.stream, step.kind)))
      }
      const heads = await Promise.all(
        streams.map(async streamId => ({
          streamId,
          page: await store.read(streamId, { sequence: 0 }, { batches: 0, bytes: 1 }),
        })),
      )
      const expected = heads
        .filter(({ page }) => page?.ticket === 'due' && page.lease === null)
        .map(({ streamId }) => streamId)
      const due = await store.due(
        streams.map(streamId => `program-${streamId}`),
        9,
      )
      expect(due.toSorted()).toEqual(expected)
      const byAge = heads
        .filter(({ page }) => page !== undefined)
        .toSorted((a, b) => (a.page?.touchedAt ?? 0) - (b.page?.touchedAt ?? 0) || (a.streamId < b.streamId ? -1 : 1))
      const oldest = (await store.listOldest(9)).streams.map(({ streamId }) => streamId)
      expect(oldest).toEqual(byAge.map(({ streamId }) => streamId))
      for (const principal of [null, 'ann']) {
        const principalHeads = heads.filter(({ page }) => page && page.principal === principal)
        const sorted = principalHeads.toSorted(
          (a, b) => (b.page?.touchedAt ?? 0) - (a.page?.touchedAt ?? 0) || (a.streamId < b.streamId ? -1 : 1),
        )
        const listed = (await store.list(principal, 9)).streams.map(({ streamId }) => streamId)
        expect(listed).toEqual(sorted.map(({ streamId }) => streamId))
      }
    }),
    { numRuns: multiplied(20) },
  )
})
