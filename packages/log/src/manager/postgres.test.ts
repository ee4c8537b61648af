import { afterAll, beforeAll, describe, test } from 'vitest'
import { postgres } from '../../../../scripts/services/postgres.ts'
import type { Service } from '../../../../scripts/services/server.ts'
import { postgresStore } from '../postgres/index.ts'
import { behaviours } from './behaviour.fixture.ts'

describe('a manager on Postgres', () => {
  let server: Service
  beforeAll(async () => {
    server = await postgres()
  })
  afterAll(() => server.stop())
  for (const { title, run } of behaviours) {
    test(title, () => run({ open: async () => postgresStore({ url: server.url, poolSize: 2 }) }))
  }
})
