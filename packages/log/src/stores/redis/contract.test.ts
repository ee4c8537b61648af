import { afterAll, beforeAll, describe, test } from 'vitest'
import { contract, nameOf, type StoreUnderTest } from '../../contract/index.ts'
import { redisStore } from './index.ts'
import { type Server, server } from './redis-server.fixture.ts'

describe('the Redis store fulfils the contract', () => {
  let running: Server
  beforeAll(async () => {
    running = await server()
  })
  afterAll(() => running.stop())

  const subject: StoreUnderTest = {
    timeoutMs: 60_000,
    open: async () => redisStore({ url: running.url, timeoutMs: 30_000 }),
    restart: () => running.crash(),
  }
  for (const each of contract) {
    if (!each.needs.includes('advance')) test(nameOf(each), () => each.run(subject))
  }
})
