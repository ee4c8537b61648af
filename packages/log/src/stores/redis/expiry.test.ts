import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { multiplied } from '../../../../../scripts/faults/campaign.ts'
import { batch, type ContractWriter, guest, move } from '../../contract/writer.ts'
import { StreamManager } from '../../manager/stream-manager.ts'
import type { LogStore } from '../../store/log-store.ts'
import { redisStore } from './index.ts'
import { headOf, newWriter, type Server, server } from './redis-server.fixture.ts'

const HOUR_MS = 3_600_000

let running: Server
beforeAll(async () => {
  running = await server()
})
afterAll(() => running.stop())

let prefixes = 0

type ExpiringStore = LogStore & Required<Pick<LogStore, 'expireAfter'>>

function open() {
  const prefix = `test-${++prefixes}:`
  const store = redisStore({ url: running.url, prefix }) as ExpiringStore
  onTestFinished(() => store.close())
  /** When each key of a log expires, in ms; -1 for never. Each value once. */
  const expiries = async (streamId: string) => {
    const keys = (await running.send('KEYS', `${prefix}{${streamId}}:*`)) as string[]
    const times = await Promise.all(keys.map(key => running.send('PEXPIRETIME', key)))
    return [...new Set(times)] as number[]
  }
  const members = (name: string) => running.send('ZRANGE', `${prefix}{index}:${name}`, '0', '-1')
  /** Waits until a log has expired. */
  const expired = async (streamId: string) => {
    while ((await store.read(streamId, { sequence: 0 }, { batches: 0, bytes: 0 })) !== undefined);
  }
  return { store, prefix, expiries, members, expired }
}

/** A log with every kind of key, without a writer. */
async function fullLog(store: LogStore, streamId: string): Promise<void> {
  const writer = await newWriter(store, streamId)
  await writer.append(batch('a'))
  const { version } = await headOf(store, streamId)
  await store.append(streamId, batch('b'), guest(), move(version, 's'))
  await store.putSnapshot(streamId, { sequence: 1, mark: 'm', version: 1, body: '{}' }, 2)
  await store.putBlob(streamId, 'hash', new Uint8Array([1]))
  await store.release(streamId, writer.epoch)
}

async function expire(store: ExpiringStore, streamId: string, ms = HOUR_MS): Promise<boolean> {
  return store.expireAfter(streamId, ms, (await headOf(store, streamId)).version)
}

async function guestMove(store: LogStore, streamId: string, at: number | 'now' | null): Promise<void> {
  const { version } = await headOf(store, streamId)
  const result = await store.append(streamId, batch('x'), guest(), move(version, 's', { at, program: null }))
  expect(result.outcome).toBe('appended')
}

describe('expireAfter', () => {
  test('gives all keys of a log the same expiry', async () => {
    const { store, expiries } = open()
    await fullLog(store, 'log')
    expect(await expiries('log')).toEqual([-1])
    const { clock } = await headOf(store, 'log')
    expect(await expire(store, 'log')).toBe(true)
    const times = await expiries('log')
    expect(times).toHaveLength(1)
    expect(times[0]).toBeGreaterThanOrEqual(clock + HOUR_MS)
  })

  test('refuses a missing log, a claimed one and another version', async () => {
    const { store, expiries } = open()
    expect(await store.expireAfter('log', 1, 'v')).toBe(false)
    const writer = await newWriter(store, 'log')
    expect(await expire(store, 'log')).toBe(false)
    await store.release('log', writer.epoch)
    const { version } = await headOf(store, 'log')
    await guestMove(store, 'log', null)
    expect(await store.expireAfter('log', HOUR_MS, version)).toBe(false)
    expect(await expiries('log')).toEqual([-1])
    for (const ms of [-1, 0.5, Number.NaN]) {
      await expect(store.expireAfter('log', ms, version)).rejects.toMatchObject({ code: 'invalid' })
    }
  })

  test('keys that are written later get the expiry of the others', async () => {
    const { store, expiries } = open()
    await store.create('log', null)
    await expire(store, 'log')
    const before = await expiries('log')
    await store.putSnapshot('log', { sequence: 0, mark: '0', version: 1, body: '{}' }, 2)
    await store.putBlob('log', 'hash', new Uint8Array([1]))
    await store.append('log', batch('a'), guest())
    await store.trim('log', 1)
    await store.restored()
    expect(before).toHaveLength(1)
    expect(await expiries('log')).toEqual(before)
    expect(await store.getBlob('log', 'hash')).toEqual(new Uint8Array([1]))
  })

  test('a claim cancels the expiry of all keys, and a later guest does not restore it', async () => {
    const { store, expiries } = open()
    await fullLog(store, 'log')
    await expire(store, 'log')
    const writer = await newWriter(store, 'log')
    expect(await expiries('log')).toEqual([-1])
    await writer.append(batch('a'))
    await store.release('log', writer.epoch)
    await guestMove(store, 'log', null)
    expect(await expiries('log')).toEqual([-1])
  })

  test('an append that makes the log due now cancels the expiry, and one that clears the due time restores it', async () => {
    const { store, expiries } = open()
    await fullLog(store, 'log')
    await expire(store, 'log')
    await guestMove(store, 'log', 'now')
    expect(await expiries('log')).toEqual([-1])
    await store.append('log', batch('x'), guest())
    expect(await expiries('log')).toEqual([-1])
    await guestMove(store, 'log', null)
    const [time] = await expiries('log')
    expect(time).toBeGreaterThan(0)
    expect(await expiries('log')).toHaveLength(1)
  })

  test('every other append that moves the ticket restarts the expiry', async () => {
    const { store, expiries } = open()
    await fullLog(store, 'log')
    await expire(store, 'log')
    const [first = 0] = await expiries('log')
    const { clock } = await headOf(store, 'log')
    while ((await headOf(store, 'log')).clock === clock);
    await guestMove(store, 'log', clock + HOUR_MS)
    const times = await expiries('log')
    expect(times).toHaveLength(1)
    expect(times[0]).toBeGreaterThan(first)
  })

  test('a fork of the log does not expire', async () => {
    const { store, expiries } = open()
    await fullLog(store, 'log')
    await expire(store, 'log')
    const ticket = { state: '', due: { at: null, program: null } }
    expect(await store.fork('log', 2, 'copy', { principal: null, ticket, closing: null })).toBe('forked')
    expect(await expiries('copy')).toEqual([-1])
  })
})

test('law 12: after any calls, all keys of a log have the same expiry, and a claimed log has none', async () => {
  const { store, expiries } = open()
  let logs = 0
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom(...CALLS), { minLength: 1, maxLength: 14 }), async calls => {
      const log = new ExpectedLog(store, `log-${++logs}`)
      await store.create(log.streamId, null)
      for (const call of calls) {
        await log[call]()
        const times = await expiries(log.streamId)
        expect([call, times.map(time => time > 0)]).toEqual([call, [log.isExpiring]])
      }
      await log.release()
    }),
    { numRuns: multiplied(25) },
  )
})

const CALLS = [
  'expire',
  'claim',
  'release',
  'writerAppend',
  'guestAppend',
  'moveToNow',
  'moveToNever',
  'moveToLater',
  'snapshot',
  'blob',
  'trim',
  'restored',
] as const

/** A log, and whether it has to expire. */
class ExpectedLog implements Record<(typeof CALLS)[number], () => Promise<unknown>> {
  readonly streamId: string
  readonly #store: ExpiringStore
  #writer: ContractWriter | undefined
  /** Whether an expiry was set and not ended by a claim. */
  #hasExpiry = false
  isExpiring = false

  constructor(store: ExpiringStore, streamId: string) {
    this.#store = store
    this.streamId = streamId
  }

  async expire() {
    const isSet = await expire(this.#store, this.streamId)
    expect(isSet).toBe(this.#writer === undefined)
    if (isSet) this.#hasExpiry = this.isExpiring = true
  }

  async claim() {
    this.#writer = await newWriter(this.#store, this.streamId)
    this.#hasExpiry = this.isExpiring = false
  }

  async release() {
    await this.#store.release(this.streamId, this.#writer?.epoch ?? 'none')
    this.#writer = undefined
  }

  async writerAppend() {
    await this.#writer?.append(batch('w'))
  }

  async guestAppend() {
    await this.#store.append(this.streamId, batch('g'), guest())
  }

  async moveToNow() {
    await guestMove(this.#store, this.streamId, 'now')
    this.isExpiring = false
  }

  async moveToNever() {
    await guestMove(this.#store, this.streamId, null)
    this.isExpiring = this.#hasExpiry
  }

  async moveToLater() {
    await guestMove(this.#store, this.streamId, 4_000_000_000_000)
    this.isExpiring = this.#hasExpiry
  }

  async snapshot() {
    const { head } = await headOf(this.#store, this.streamId)
    await this.#store.putSnapshot(this.streamId, { sequence: head, mark: 'm', version: 1, body: '{}' }, 2)
  }

  async blob() {
    await this.#store.putBlob(this.streamId, `${Math.random()}`, new Uint8Array([1]))
  }

  async trim() {
    await this.#store.trim(this.streamId, (await headOf(this.#store, this.streamId)).head)
  }

  async restored() {
    await this.#store.restored()
    this.#writer = undefined
  }
}

describe('an expired log', () => {
  test('is absent, leaves the indexes, and can be created again with another incarnation', async () => {
    const { store, prefix, members, expired } = open()
    await store.create('log', 'ann')
    await guestMove(store, 'log', 'now')
    await guestMove(store, 'log', null)
    await store.putBlob('log', 'hash', new Uint8Array([1]))
    await store.create('other', 'ann')
    const { incarnation } = await headOf(store, 'log')
    await expire(store, 'log', 20)
    await expired('log')
    expect(await store.find('log', 'key')).toBeUndefined()
    expect(await store.getBlob('log', 'hash')).toBeUndefined()
    expect(await running.send('KEYS', `${prefix}{log}:*`)).toEqual([])
    expect((await store.list('ann', 9)).streams.map(({ streamId }) => streamId)).toEqual(['other'])
    expect((await store.listOldest(9)).streams.map(({ streamId }) => streamId)).toEqual(['other'])
    expect(await store.due(['p'], 9)).toEqual([])
    expect([await members('list:ann'), await members('all')]).toEqual([['other'], ['other']])
    expect(await store.create('log', 'bob')).toBe(true)
    expect((await headOf(store, 'log')).incarnation).not.toBe(incarnation)
    expect((await store.list('bob', 9)).streams.map(({ streamId }) => streamId)).toEqual(['log'])
    expect((await store.list('ann', 9)).streams.map(({ streamId }) => streamId)).toEqual(['other'])
  })
})

describe('a manager', () => {
  test('law 12: lets a log at rest expire, and no log with an open, paused or requested run', async () => {
    const { store, expiries } = open()
    const manager = new StreamManager({ store })
    const expireStream = () => manager.expireStreamAfter('log', HOUR_MS)
    expect(await expireStream()).toBe(false)
    const writer = await manager.createWriter('log', { runId: 'r1', agentType: 'a' })
    expect(await expireStream()).toBe(false)
    await writer.commit([{ type: 'tool-approval-request', toolCallId: 'c', approvalId: 'a', input: 1 }])
    await manager.pauseStream('log')
    await writer.close()
    expect(await expireStream()).toBe(false)
    expect(await expiries('log')).toEqual([-1])
    await manager.endStream('log')
    await manager.close()
    const guests = new StreamManager({ store })
    expect(await guests.expireStreamAfter('log', HOUR_MS)).toBe(true)
    expect((await expiries('log'))[0]).toBeGreaterThan(0)
    const request = { type: 'run-requested', runId: 'r2', program: 'agent:a@1' } as const
    await guests.append('log', 'ann', request)
    expect(await expiries('log')).toEqual([-1])
    expect(await guests.expireStreamAfter('log', HOUR_MS)).toBe(false)
    await guests.append('log', 'ann', { type: 'stop-requested', runId: 'r2', mode: 'interrupt' })
    expect((await expiries('log'))[0]).toBeGreaterThan(0)
    await guests.append('log', 'ann', { type: 'session-info', title: 'A walk' })
    expect((await expiries('log'))[0]).toBeGreaterThan(0)
    const next = await guests.createWriter('log', { runId: 'r3', agentType: 'a' })
    await next.commit([])
    expect(await expiries('log')).toEqual([-1])
    await guests.close()
  })
})
