import { createServer } from 'node:net'
import * as redis from 'redis'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type FaultProxy, proxy } from '../../../../../scripts/faults/proxy.ts'
import { batch, guest } from '../../contract/writer.ts'
import type { LogStore } from '../../store/log-store.ts'
import { failure } from './failure.ts'
import { redisStore } from './index.ts'
import { headOf, newWriter, type Server, server } from './redis-server.fixture.ts'

let running: Server
beforeAll(async () => {
  running = await server()
})
afterAll(() => running.stop())

/** Long enough for a busy machine, and short enough to wait for. */
const SHORT = 1_500

let prefixes = 0

function open(url = running.url, timeoutMs = 30_000): LogStore {
  const store = redisStore({ url, prefix: `test-${++prefixes}:`, timeoutMs })
  onTestFinished(() => store.close())
  return store
}

/** A handle through a proxy. */
async function openThrough(timeoutMs?: number): Promise<{ store: LogStore; between: FaultProxy }> {
  const between = await proxy(running.url)
  onTestFinished(() => between.stop())
  return { store: open(between.url(running.url), timeoutMs), between }
}

const ALL = { batches: 999, bytes: 999_999 }
const bodies = async (store: LogStore) =>
  (await store.read('log', { sequence: 0 }, ALL))?.batches.map(({ body }) => body)

describe('law 5: an append that is repeated because its outcome is unknown', () => {
  test.each([
    ['its answer was lost', { down: { cutAt: 0 } }, 'duplicate'],
    ['half of its answer was lost', { down: { cutAt: 3 } }, 'duplicate'],
    ['it never arrived', { up: { cutAt: 0 } }, 'appended'],
    ['half of it arrived', { up: { cutAt: 90 } }, 'appended'],
  ] as const)('appends once for a writer when %s', async (_, faults, outcome) => {
    const { store, between } = await openThrough()
    const writer = await newWriter(store, 'log')
    await writer.append(batch('a'))
    for (const link of between.links) link.set(faults)
    await expect(writer.append(batch('b'))).rejects.toMatchObject({ code: 'unavailable' })
    expect(await store.append('log', batch('b'), writer.by)).toMatchObject({ outcome, first: 2, last: 2 })
    expect(await bodies(store)).toEqual([batch('a').body, batch('b').body])
  })

  test.each([
    ['its answer was lost', { down: { cutAt: 0 } }, 'duplicate'],
    ['half of it arrived', { up: { cutAt: 90 } }, 'appended'],
  ] as const)('appends once for a guest when %s', async (_, faults, outcome) => {
    const { store, between } = await openThrough()
    await store.create('log', null)
    for (const link of between.links) link.set(faults)
    await expect(store.append('log', batch('a'), guest('key'))).rejects.toMatchObject({ code: 'unavailable' })
    expect(await store.append('log', batch('a'), guest('key'))).toMatchObject({ outcome, first: 1, last: 1 })
    expect(await bodies(store)).toEqual([batch('a').body])
  })

  test('appends once for a writer when the server kills the connection and takes writes again later', async () => {
    const store = open(running.url, SHORT)
    const writer = await newWriter(store, 'log')
    await running.send('CLIENT', 'PAUSE', '60000', 'WRITE')
    await expect(writer.append(batch('a'))).rejects.toMatchObject({ code: 'unavailable', message: /within 1500 ms/ })
    const append = store.append('log', batch('a'), writer.by).catch(error => error.code)
    await running.send('CLIENT', 'KILL', 'TYPE', 'normal')
    expect(await append).toBe('unavailable')
    await running.send('CLIENT', 'UNPAUSE')
    expect(await store.append('log', batch('a'), writer.by)).toMatchObject({ first: 1, last: 1 })
    expect(await bodies(store)).toEqual([batch('a').body])
  })
})

describe('a server that does not answer', () => {
  test('rejects pending and later calls as unavailable, and close ends', async () => {
    const redisServer = await server()
    onTestFinished(() => redisServer.stop())
    const store = redisStore({ url: redisServer.url, timeoutMs: SHORT })
    const writer = await newWriter(store, 'log')
    await redisServer.freeze()
    const calls = [writer.append(batch('a')), store.due([], 1), store.append('log', batch('b'), guest('key'))]
    for (const call of calls) await expect(call).rejects.toMatchObject({ code: 'unavailable' })
    // The kernel still accepts connections, but the server sends no greeting.
    await expect(store.create('other', null)).rejects.toMatchObject({ code: 'unavailable', message: /within 1500 ms/ })
    await redisServer.thaw()
    const repeated = [
      await store.append('log', batch('a'), writer.by),
      await store.append('log', batch('b'), guest('key')),
    ]
    for (const result of repeated) expect(result.outcome).toMatch(/^(appended|duplicate)$/)
    expect((await bodies(store))?.toSorted()).toEqual([batch('a').body, batch('b').body])
    await redisServer.freeze()
    const call = store.create('third', null).catch(error => error.code)
    await store.close()
    expect(await call).toBe('unavailable')
  })

  test('keeps a connection that stalls for less than the timeout', async () => {
    const { store, between } = await openThrough(60_000)
    await store.create('log', null)
    const stalled = between.event('stall')
    between.stall('down')
    const append = store.append('log', batch('a'), guest())
    await stalled
    between.resume('down')
    expect(await append).toMatchObject({ outcome: 'appended' })
    expect(between.counts().connections).toBe(1)
  })
})

describe('error messages', () => {
  test('name the server that refuses connections, without its password', async () => {
    const probe = createServer().listen(0, '127.0.0.1')
    const { port } = await new Promise<{ port: number }>(resolve => {
      probe.once('listening', () => resolve(probe.address() as { port: number }))
    })
    await new Promise(resolve => probe.close(resolve))
    const store = open(`redis://ann:secret@127.0.0.1:${port}/0`)
    const error: Error = await store.create('log', null).catch(error => error)
    expect(error).toMatchObject({ code: 'unavailable' })
    expect(error.message).toMatch(new RegExp(`127\\.0\\.0\\.1:${port} .*ECONNREFUSED`))
    expect(`${error.message} ${error.cause}`).not.toContain('secret')
  })

  test('say that the password is wrong', async () => {
    const store = open(running.url.replace('//', '//ann:secret@'))
    const error: Error = await store.create('log', null).catch(error => error)
    expect(error).toMatchObject({ code: 'unavailable', message: /rejected the credentials/ })
    expect(`${error.message} ${error.cause}`).not.toContain('secret')
  })

  test.each(['secret', 'http://ann:secret@host', 'redis//ann:secret@host', ''])(
    'reject a malformed url without its password',
    url => {
      try {
        redisStore({ url })
        expect.unreachable()
      } catch (error) {
        expect(error).toMatchObject({ code: 'invalid' })
        expect(`${error} ${(error as Error).cause}`).not.toContain('secret')
      }
    },
  )

  test('say that the server is out of memory: writes fail, reads and removals continue', async () => {
    const store = open()
    const writer = await newWriter(store, 'log')
    await writer.append(batch('a'))
    await running.send('CONFIG', 'SET', 'maxmemory', '1')
    try {
      const refused = { code: 'unavailable', message: /out of memory/ }
      await expect(writer.append(batch('b'))).rejects.toMatchObject(refused)
      await expect(store.append('log', batch('b'), guest())).rejects.toMatchObject(refused)
      await expect(store.create('other', null)).rejects.toMatchObject(refused)
      await expect(store.release('log', writer.epoch)).rejects.toMatchObject(refused)
      expect((await headOf(store, 'log')).head).toBe(1)
      expect(await store.renew('log', writer.epoch, 3_600_000)).toBeDefined()
      await store.trim('log', 1)
      expect((await headOf(store, 'log')).floor).toBe(1)
      expect(await store.remove('log')).toBe(true)
      expect((await store.list(null, 9)).streams).toEqual([])
    } finally {
      await running.send('CONFIG', 'SET', 'maxmemory', '0')
    }
  })

  test('say that the server is a replica', async () => {
    const redisServer = await server()
    onTestFinished(() => redisServer.stop())
    const store = open(redisServer.url)
    const writer = await newWriter(store, 'log')
    await redisServer.send('REPLICAOF', '127.0.0.1', '1')
    await expect(writer.append(batch('a'))).rejects.toMatchObject({ code: 'unavailable', message: /is a replica/ })
    await expect(store.release('log', writer.epoch)).rejects.toMatchObject({
      code: 'unavailable',
      message: /is a replica/,
    })
    await redisServer.send('REPLICAOF', 'NO', 'ONE')
    expect(await writer.append(batch('a'))).toMatchObject({ outcome: 'appended' })
  })

  test.each([
    ['MISCONF Redis is configured to save RDB snapshots', /last save to disk failed/],
    ['LOADING Redis is loading the dataset in memory', /still loading/],
    ['BUSY Redis is busy running a script', /kept busy/],
    ['NOAUTH Authentication required.', /credentials/],
    ['CROSSSLOT Keys in request', /cluster/],
    ['ERR something else', /refused a command \(ERR something else\)/],
  ])('explain the reply of Redis: %s', (reply, message) => {
    const translated = failure({ name: 'host:1', timeoutMs: 5, driver: redis }, new redis.ErrorReply(reply))
    expect(translated).toMatchObject({ code: 'unavailable', message })
    expect(translated.message).toContain('host:1')
  })
})

test('connects with the options of a given client, and does not use that client', async () => {
  const client = redis.createClient({ url: `${running.url}/3` })
  const store = redisStore({ client, prefix: 'own:' })
  onTestFinished(() => store.close())
  const woken = new Promise<void>(resolve => store.watch('log', () => resolve()))
  await store.create('log', null)
  await woken
  expect(client.isOpen).toBe(false)
  await client.connect()
  onTestFinished(() => client.close())
  expect(await client.exists('own:{log}:w')).toBe(1)
})
