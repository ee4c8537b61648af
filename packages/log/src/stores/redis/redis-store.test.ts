import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { proxy } from '../../../../../scripts/faults/proxy.ts'
import { batch, guest, move } from '../../contract/writer.ts'
import type { LogStore } from '../../store/log-store.ts'
import { redisStore } from './index.ts'
import { headOf, newWriter, type Server, server } from './redis-server.fixture.ts'

let running: Server
beforeAll(async () => {
  running = await server()
})
afterAll(() => running.stop())

let prefixes = 0

/** A handle on logs of this test only, and the prefix of their keys. */
function open(options: { prefix?: string } = {}): { store: LogStore; prefix: string } {
  const { prefix = `test-${++prefixes}:` } = options
  const store = redisStore({ url: running.url, prefix })
  onTestFinished(() => store.close())
  return { store, prefix }
}

const keysOf = async (prefix: string) => ((await running.send('KEYS', `${prefix}*`)) as string[]).sort()

describe('keys', () => {
  test('two stores with different prefixes do not see each other', async () => {
    const [first, second] = [open(), open()]
    await first.store.create('log', 'ann')
    await second.store.create('log', 'ann')
    await first.store.remove('log')
    expect((await second.store.list('ann', 9)).streams.map(({ streamId }) => streamId)).toEqual(['log'])
    expect(await second.store.restored()).toBe(1)
    expect(await first.store.restored()).toBe(0)
  })

  test('a prefix with pattern characters is used literally', async () => {
    const one = open({ prefix: 'a[b]*?\\:' })
    const other = open({ prefix: 'ab?:' })
    await one.store.create('log', null)
    await other.store.create('log', null)
    expect([await one.store.restored(), await other.store.restored()]).toEqual([1, 1])
  })

  test('remove leaves no key except the counter of dirty marks', async () => {
    const { store, prefix } = open()
    for (const streamId of ['{a}b', 'a b\n', '\0', '語']) {
      const writer = await newWriter(store, streamId)
      await writer.append(batch('a'))
      const { version } = await headOf(store, streamId)
      await store.append(streamId, batch('b'), guest('key'), move(version, 's', { at: 'now', program: 'p' }))
      await store.putSnapshot(streamId, { sequence: 1, mark: 'm', version: 1, body: '{}' }, 2)
      await store.putBlob(streamId, 'hash', new Uint8Array([1]))
      expect(await store.remove(streamId)).toBe(true)
    }
    expect(await store.due(['p'], 9)).toEqual([])
    expect(await keysOf(prefix)).toEqual([`${prefix}{index}:count`])
  })
})

describe('scripts', () => {
  test('loads scripts again after the server forgot them, and runs each once', async () => {
    const { store } = open()
    const writer = await newWriter(store, 'log')
    const { version } = await headOf(store, 'log')
    const calls: (() => Promise<unknown>)[] = [
      () => writer.append(batch('plain')),
      () => writer.append(batch('moves'), move(version, 's', { at: 'now', program: null })),
      () => store.append('log', batch('guest'), guest('key')),
      () => store.trim('log', 1),
      () => store.renew('log', writer.epoch, 60_000),
      () => store.due([], 9),
      () => store.list(null, 9),
      () => store.release('log', writer.epoch),
    ]
    for (const call of calls) {
      await running.send('SCRIPT', 'FLUSH')
      await call()
    }
    await running.send('SCRIPT', 'FLUSH')
    const page = await store.read('log', { sequence: 1 }, { batches: 9, bytes: 999 })
    expect(page?.batches.map(({ body }) => body)).toEqual([batch('moves').body, batch('guest').body])
    expect(await store.due([], 9)).toEqual(['log'])
  })
})

describe('appends to many logs at once', () => {
  test('law 1: each of many concurrent appends has its own outcome, also when others fail', async () => {
    const { store } = open()
    const writers = await Promise.all(Array.from({ length: 150 }, (_, i) => newWriter(store, `log-${i}`)))
    for (const writer of writers.slice(0, 50)) await store.release(`log-${writers.indexOf(writer)}`, writer.epoch)
    for (const [i] of writers.slice(50, 100).entries()) await store.append(`log-${50 + i}`, batch('guest'), guest())
    const results = await Promise.all(writers.map(writer => writer.append(batch('a', 'b'))))
    const outcomes = results.map(result =>
      'first' in result ? `${result.outcome} ${result.first}..${result.last}` : result.outcome,
    )
    expect(new Set(outcomes.slice(0, 50))).toEqual(new Set(['fenced']))
    expect(new Set(outcomes.slice(50, 100))).toEqual(new Set(['appended 2..3']))
    expect(new Set(outcomes.slice(100))).toEqual(new Set(['appended 1..2']))
  })

  test('law 5: an append sent twice concurrently is appended once, and both return its sequences', async () => {
    const { store } = open()
    const writers = await Promise.all(Array.from({ length: 5 }, (_, i) => newWriter(store, `log-${i}`)))
    const twice = writers.flatMap((writer, i) =>
      [1, 2].map(n => store.append(`log-${i}`, batch(...'ab'.repeat(n)), writer.by)),
    )
    const outcomes = (await Promise.all(twice)).map(result =>
      'first' in result ? [result.outcome, result.first, result.last] : result,
    )
    expect(outcomes).toEqual(
      writers.flatMap(() => [
        ['appended', 1, 2],
        ['duplicate', 1, 2],
      ]),
    )
    const { head } = await headOf(store, 'log-0')
    expect(head).toBe(2)
  })

  test('law 4: a name with spaces is one name', async () => {
    const { store } = open()
    const writer = await newWriter(store, 'log')
    const { incarnation, sequence } = writer.lastAcked
    const forged = { epoch: writer.epoch, counter: 1, lastAcked: { sequence, incarnation, epoch: '0 0' } }
    expect(await store.append('log', batch('a'), { ...forged, epoch: `${writer.epoch} 0` })).toEqual({
      outcome: 'fenced',
    })
    expect(await store.append('log', batch('a'), { ...forged, epoch: '!' })).toEqual({ outcome: 'fenced' })
    expect(await store.append('log', batch('a'), forged)).toEqual({ outcome: 'regressed' })
    await expect(store.append('log', batch('a'), { ...guest(), nonce: 'a b' })).rejects.toMatchObject({
      code: 'invalid',
    })
    expect((await headOf(store, 'log')).head).toBe(0)
  })

  test('close waits for pending calls, and later calls are rejected', async () => {
    const store = redisStore({ url: running.url, prefix: `test-${++prefixes}:` })
    const writer = await newWriter(store, 'log')
    const append = writer.append(batch('a'))
    const close = store.close()
    expect(await append).toMatchObject({ outcome: 'appended' })
    await close
    await expect(writer.append(batch('b'))).rejects.toMatchObject({ code: 'closed' })
    await expect(store.due([], 1)).rejects.toMatchObject({ code: 'closed' })
    await store.close()
  })
})

describe('fork', () => {
  const fork = { principal: 'ann', ticket: { state: 's', due: { at: 'now', program: 'p' } }, closing: null } as const

  test('one of two concurrent forks into one name wins, and the other leaves nothing', async () => {
    const { store, prefix } = open()
    const other = redisStore({ url: running.url, prefix })
    onTestFinished(() => other.close())
    for (const [streamId, text] of [
      ['one', 'of one'],
      ['two', 'of two'],
    ] as const) {
      await store.create(streamId, null)
      for (let i = 0; i < 250; i++) await store.append(streamId, batch(text), guest(`${i}`, i % 2 === 0))
      await store.putBlob(streamId, 'hash', new TextEncoder().encode(text))
    }
    const results = await Promise.all([store.fork('one', 250, 'target', fork), other.fork('two', 250, 'target', fork)])
    expect(results.toSorted()).toEqual(['exists', 'forked'])
    const text = results[0] === 'forked' ? 'of one' : 'of two'
    const page = await store.read('target', { sequence: 0 }, { batches: 999, bytes: 999_999 })
    expect(page?.batches.map(({ body }) => body)).toEqual(Array.from({ length: 250 }, () => batch(text).body))
    expect(new TextDecoder().decode(await store.getBlob('target', 'hash'))).toBe(text)
    expect(await store.find('target', '249')).toEqual({ first: 250, last: 250 })
    const keys = await keysOf(`${prefix}{target}`)
    expect(keys.map(key => key.slice(`${prefix}{target}`.length))).toEqual([':b', ':h', ':k', ':q', ':s', ':w'])
    for (const key of keys) expect(await running.send('PTTL', key)).toBe(-1)
  })

  test('a half-made fork of a dead process is removed and never visible', async () => {
    const { store, prefix } = open()
    await store.create('source', null)
    const long = batch('a'.repeat(100))
    await Promise.all(Array.from({ length: 700 }, () => store.append('source', long, guest())))
    // The process dies after its first page and before its last.
    const between = await proxy(running.url)
    onTestFinished(() => between.stop())
    between.next({ up: { cutAt: 90_000 } })
    const maker = redisStore({ url: between.url(running.url), prefix })
    const forking = maker.fork('source', 700, 'target', fork).catch(error => error.code)
    expect(await forking).toBe('unavailable')
    await maker.close()
    expect(await store.read('target', { sequence: 0 }, { batches: 1, bytes: 1 })).toBeUndefined()
    const left = await keysOf(`${prefix}{target}`)
    expect(left).toHaveLength(1)
    expect(await running.send('PTTL', left[0] as string)).toBeGreaterThan(0)
    expect(await store.fork('source', 700, 'target', fork)).toBe('forked')
    expect((await headOf(store, 'target')).head).toBe(700)
  })
})

describe('a lost tail', () => {
  test('law 4: reports a lost tail to a writer with more acknowledged entries, and to readers', async () => {
    const redisServer = await server()
    onTestFinished(() => redisServer.stop())
    const store = redisStore({ url: redisServer.url })
    onTestFinished(() => store.close())
    const writer = await newWriter(store, 'log')
    await writer.append(batch('kept'))
    const copy = await redisServer.copy()
    await writer.append(batch('lost'))
    const { lastAcked } = writer
    await redisServer.restore(copy)
    // The first call after the break detects the broken connection at the latest.
    await store.read('log', { sequence: 0 }, { batches: 0, bytes: 1 }).catch(() => {})
    const page = await store.read('log', lastAcked, { batches: 9, bytes: 999 })
    expect([page?.truncated, page?.head]).toEqual(['past-head', 1])
    expect(await writer.append(batch('next'))).toEqual({ outcome: 'regressed' })
    const after = await headOf(store, 'log')
    expect([after.head, after.lease, after.incarnation === lastAcked.incarnation]).toEqual([1, null, false])
    expect(await store.append('log', batch('next'), writer.by)).toEqual({ outcome: 'fenced' })
  })

  test('law 4: reports a lost tail also after others have appended at those sequences', async () => {
    const redisServer = await server()
    onTestFinished(() => redisServer.stop())
    const store = redisStore({ url: redisServer.url })
    onTestFinished(() => store.close())
    const writer = await newWriter(store, 'log')
    const copy = await redisServer.copy()
    await writer.append(batch('lost'))
    await redisServer.restore(copy)
    await store.read('log', { sequence: 0 }, { batches: 0, bytes: 1 }).catch(() => {})
    await store.append('log', batch("a guest's"), guest())
    await store.append('log', batch("a guest's"), guest())
    expect(await writer.append(batch('next'))).toEqual({ outcome: 'regressed' })
    expect((await headOf(store, 'log')).head).toBe(2)
  })
})
