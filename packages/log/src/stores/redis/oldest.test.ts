import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { batch, guest, move } from '../../contract/writer.ts'
import { redisStore } from './index.ts'
import { headOf, type Server, server } from './redis-server.fixture.ts'

let running: Server
beforeAll(async () => {
  running = await server()
})
afterAll(() => running.stop())

let prefixes = 0

function open() {
  const prefix = `test-${++prefixes}:`
  const store = redisStore({ url: running.url, prefix })
  onTestFinished(() => store.close())
  const all = `${prefix}{index}:all`
  const oldest = async () => (await store.listOldest(1000)).streams.map(({ streamId }) => streamId)
  return { store, prefix, all, oldest }
}

test('finds the logs that an earlier release has indexed', async () => {
  const { store, all, oldest } = open()
  const names = Array.from({ length: 450 }, (_, i) => `log-${i}`)
  await Promise.all(names.map(name => store.create(name, null)))
  expect((await oldest()).toSorted()).toEqual(names.toSorted())
  // An earlier release does not know this key.
  await running.send('DEL', all)
  expect((await oldest()).toSorted()).toEqual(names.toSorted())
  await running.send('ZREM', all, 'log-7')
  expect((await oldest()).toSorted()).toEqual(names.toSorted())
})

test('corrects the logs that an earlier release has touched or removed', async () => {
  const { store, all, oldest } = open()
  for (const name of ['a', 'b', 'c']) await store.create(name, null)
  const { touchedAt } = await headOf(store, 'c')
  while ((await headOf(store, 'c')).clock === touchedAt);
  const { version } = await headOf(store, 'a')
  await store.append('a', batch('x'), guest(), move(version, 's'))
  expect((await oldest()).at(-1)).toBe('a')
  await running.send('ZADD', all, '1', 'a', '2', 'gone')
  expect((await oldest()).at(-1)).toBe('a')
  expect(await oldest()).toHaveLength(3)
  expect(await running.send('ZCARD', all)).toBe(3)
})

test('reads about as many logs as a page returns', async () => {
  const { store } = open()
  await Promise.all(Array.from({ length: 300 }, (_, i) => store.create(`log-${i}`, null)))
  await store.listOldest(1)
  const reads = async () => {
    const stats = String(await running.send('INFO', 'commandstats'))
    return Number(/cmdstat_hmget:calls=(\d+)/.exec(stats)?.[1] ?? 0)
  }
  const before = await reads()
  const { streams, next } = await store.listOldest(10)
  expect([streams.length, typeof next]).toEqual([10, 'string'])
  expect((await reads()) - before).toBeLessThan(20)
})
