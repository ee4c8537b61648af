import { afterAll, beforeAll, describe, test } from 'vitest'
import { postgres } from '../../../../scripts/services/postgres.ts'
import type { Service } from '../../../../scripts/services/server.ts'
import { postgresStore } from '../stores/postgres/index.ts'
import { behaviours } from './manager-behaviours.fixture.ts'

describe('a manager on Postgres', () => {
  let server: Service
  beforeAll(async () => {
    // Only a power loss loses data with this setting, and no test simulates one.
    server = await postgres({ settings: { fsync: 'off' } })
  })
  afterAll(() => server.stop())
  for (const { title, run } of behaviours) {
    test(title, () => run({ open: async () => postgresStore({ url: server.url, poolSize: 2 }) }))
  }
})
