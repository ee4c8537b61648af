import { createClient } from 'redis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { keptLease, keptUntilRenewed, renewedSince } from '../kept-lease.fixture.ts'
import { redisStore } from './index.ts'
import { type Server, server } from './redis-server.fixture.ts'

let running: Server
beforeAll(async () => {
  running = await server()
  await running.send('ACL', 'SETUSER', 'app', 'on', '>secret', '~*', '&*', '+@all')
})
afterAll(() => running.stop())

/** The URL with a user and a password, and its parts. */
const urls = () => {
  const url = new URL(running.url)
  url.username = 'app'
  url.password = 'secret'
  return { url: `${url}`, host: url.hostname, port: Number(url.port) }
}

const connections = async () => `${await running.send('CLIENT', 'LIST')}`.split('user=app').length - 1

test('the thread connects with the settings of the URL, and leaves no connection behind', async () => {
  const store = redisStore({ url: urls().url, prefix: 'url:' })
  await keptUntilRenewed(store)
  expect(await connections()).toBeGreaterThan(1)
  await store.close()
  await expect.poll(connections).toBe(0)
})

test('the thread connects with the settings of a client', async () => {
  const { host, port } = urls()
  const client = createClient({
    username: 'app',
    password: 'secret',
    socket: { host, port, reconnectStrategy: () => 100 },
  })
  const store = redisStore({ client, prefix: 'client:' })
  await keptUntilRenewed(store)
  await store.close()
})

test('the thread connects again after its connection was closed, and after a crash of the server', async () => {
  const store = redisStore({ url: urls().url, prefix: 'again:' })
  const kept = await keptLease(store)
  await running.send('CLIENT', 'KILL', 'USER', 'app')
  await renewedSince(kept)
  await running.crash()
  await running.send('ACL', 'SETUSER', 'app', 'on', '>secret', '~*', '&*', '+@all')
  await renewedSince(kept)
  expect(store.heartbeat?.failure).toBeUndefined()
  await store.close()
})

test('fails if a setting is a function, and names the setting', async () => {
  const { host, port } = urls()
  const credentialsProvider = {
    type: 'async-credentials-provider',
    credentials: async () => ({ password: 'secret' }),
  } as const
  const store = redisStore({ client: createClient({ credentialsProvider, socket: { host, port } }) })
  await store.heartbeat?.ready()
  expect(store.heartbeat?.failure?.message).toContain('the setting credentialsProvider of the connection')
  await store.close()
})
