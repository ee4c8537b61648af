import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { proxy } from '../../../../../scripts/faults/proxy.ts'
import { batch, guest } from '../../contract/writer.ts'
import type { LogStore } from '../../store/log-store.ts'
import { redisStore } from './index.ts'
import { type Server, server } from './redis-server.fixture.ts'

let running: Server
beforeAll(async () => {
  running = await server()
})
afterAll(() => running.stop())

let prefixes = 0
let prefix = ''

/** A handle on logs of this test only. Without options, another handle on the same logs. */
function open(url?: string, timeoutMs = 5_000): LogStore {
  if (url !== undefined) prefix = `test-${++prefixes}:`
  const store = redisStore({ url: url ?? running.url, prefix, timeoutMs })
  onTestFinished(() => store.close())
  return store
}

/** Wake-ups, one after another. */
function wakes(store: LogStore, streamId: string) {
  let wake = () => {}
  let next = new Promise<void>(resolve => {
    wake = resolve
  })
  let count = 0
  const stop = store.watch(streamId, () => {
    count++
    wake()
  })
  onTestFinished(stop)
  return {
    stop,
    count: () => count,
    async next() {
      await next
      next = new Promise(resolve => {
        wake = resolve
      })
    },
    /** Reads only when woken. */
    async sees(head: number) {
      for (;;) {
        await this.next()
        const page = await store.read(streamId, { sequence: 0 }, { batches: 0, bytes: 1 }).catch(() => undefined)
        if (page?.head === head) return
      }
    },
  }
}

/** Polls until the condition holds. The timeout of the test is the limit. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await pause(15)
}

const subscribers = async (streamId: string) =>
  ((await running.send('PUBSUB', 'NUMSUB', `${prefix}{${streamId}}:w`)) as [string, number])[1]

test('law 2: misses nothing when the connection of the subscriber is killed', async () => {
  const store = open(running.url)
  const other = open()
  await store.create('log', null)
  const watcher = wakes(store, 'log')
  await watcher.next()
  for (let head = 1; head <= 5; head++) {
    await running.send('CLIENT', 'KILL', 'TYPE', 'pubsub')
    await other.append('log', batch('a'), guest())
    await watcher.sees(head)
  }
})

test('law 2: misses nothing on a connection that silently died, and replaces it', async () => {
  const between = await proxy(running.url)
  onTestFinished(() => between.stop())
  const store = open(between.url(running.url), 1_500)
  const other = open()
  await store.create('log', null)
  const watcher = wakes(store, 'log')
  await watcher.next()
  const [, subscriber] = between.links
  const replaced = between.event('connect')
  subscriber?.stall()
  await other.append('log', batch('a'), guest())
  await watcher.sees(1)
  await other.append('log', batch('b'), guest())
  await watcher.sees(2)
  await replaced
  await other.append('log', batch('c'), guest())
  await watcher.sees(3)
})

test('law 2: polls the log while the subscriber cannot connect', async () => {
  const between = await proxy(running.url)
  onTestFinished(() => between.stop())
  const store = open(between.url(running.url))
  const other = open()
  await store.create('log', null)
  between.refuse(true)
  const watcher = wakes(store, 'log')
  await between.event('refuse')
  await other.append('log', batch('a'), guest())
  await watcher.sees(1)
  await other.append('log', batch('b'), guest())
  await watcher.sees(2)
})

test('watchers of one handle share a connection, and those of one log a channel', async () => {
  const store = open(running.url)
  await store.create('log', null)
  await store.create('other', null)
  const before = `${await running.send('CLIENT', 'LIST', 'TYPE', 'pubsub')}`.split('\n').length
  const watchers = [wakes(store, 'log'), wakes(store, 'log'), wakes(store, 'other')]
  for (const watcher of watchers) await watcher.next()
  const after = `${await running.send('CLIENT', 'LIST', 'TYPE', 'pubsub')}`.split('\n').length
  expect([after - before, await subscribers('log'), await subscribers('other')]).toEqual([1, 1, 1])
  watchers[0]?.stop()
  watchers[0]?.stop()
  await store.append('log', batch('a'), guest())
  await watchers[1]?.sees(1)
  expect(await subscribers('log')).toBe(1)
  for (const watcher of watchers) watcher.stop()
  await until(async () => (await subscribers('log')) + (await subscribers('other')) === 0)
  const again = wakes(store, 'log')
  await again.next()
  expect(await subscribers('log')).toBe(1)
})

test('a watch that replaces a stopped one at once is woken', async () => {
  const store = open(running.url)
  await store.create('log', null)
  const first = wakes(store, 'log')
  await first.next()
  for (let head = 1; head <= 20; head++) {
    first.stop()
    store.watch('log', () => {})()
    const watcher = wakes(store, 'log')
    await store.append('log', batch('a'), guest())
    await watcher.sees(head)
    watcher.stop()
  }
})

test('appends to other logs do not wake a watcher', async () => {
  // Stops the polling.
  vi.useFakeTimers({ toFake: ['setInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const store = open(running.url)
  await store.create('log', null)
  await store.create('other', null)
  const watcher = wakes(store, 'log')
  await watcher.next()
  const other = wakes(store, 'other')
  for (let head = 1; head <= 30; head++) {
    await store.append('other', batch('a'), guest())
    await other.sees(head)
  }
  expect(watcher.count()).toBe(1)
})

test('close ends all watches, and a watch on a closed store never wakes', async () => {
  const store = redisStore({ url: running.url, prefix: `test-${++prefixes}:` })
  await store.create('log', null)
  const watcher = wakes(store, 'log')
  await watcher.next()
  await store.close()
  const count = watcher.count()
  expect(store.watch('log', () => expect.unreachable())).toBeTypeOf('function')
  expect(await running.send('PUBLISH', `test-${prefixes}:{log}:w`, '')).toBe(0)
  expect(watcher.count()).toBe(count)
})

test('law 2: a watch that starts while the previous one is being unsubscribed is woken', async () => {
  // No other command is sent between the answers.
  vi.useFakeTimers({ toFake: ['setInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const between = await proxy(running.url)
  onTestFinished(() => between.stop())
  const store = open(between.url(running.url))
  const other = open()
  for (const streamId of ['log', 'first']) await store.create(streamId, null)
  await wakes(store, 'first').next()
  const [, subscriber] = between.links
  if (subscriber === undefined) throw new Error('expected a subscriber connection, found none')
  // The answer to the subscribe has arrived, that to the unsubscribe has not.
  const channel = `${prefix}{log}:w`
  const answer = `>3\r\n$9\r\nsubscribe\r\n$${channel.length}\r\n${channel}\r\n:2\r\n`
  const down = subscriber.down + answer.length
  subscriber.set({ down: { stallAt: answer.length } })
  store.watch('log', () => {})()
  await until(async () => subscriber.down === down)
  for (let times = 0; times < 2; times++) await store.find('log', 'none')
  const watcher = wakes(store, 'log')
  subscriber.resume()
  await until(async () => (await subscribers('log')) === 1)
  await other.append('log', batch('a'), guest())
  await watcher.sees(1)
})
