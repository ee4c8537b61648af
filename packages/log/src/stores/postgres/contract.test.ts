import { afterAll, beforeAll, describe, test } from 'vitest'
import { contract, nameOf, type StoreUnderTest } from '../../contract/index.ts'
import { postgresStore } from './index.ts'
import { type Server, server } from './postgres-server.fixture.ts'

describe('the Postgres store fulfils the contract', () => {
  let running: Server
  beforeAll(async () => {
    running = await server()
  })
  afterAll(() => running.stop())

  const subject: StoreUnderTest = {
    timeoutMs: 60_000,
    open: async () => postgresStore({ url: running.url, poolSize: 2, timeoutMs: 30_000 }),
    restart: async () => {
      await running.kill()
      await running.restart()
    },
  }
  for (const each of contract) {
    if (!each.needs.includes('advance')) test(nameOf(each), () => each.run(subject))
  }
})
