import { afterAll, beforeAll, describe, test } from 'vitest'
import { redis } from '../../../../scripts/services/redis.ts'
import type { Service } from '../../../../scripts/services/server.ts'
import { redisStore } from '../stores/redis/index.ts'
import { behaviours } from './manager-behaviours.fixture.ts'

describe('a manager on Redis', () => {
  let server: Service
  beforeAll(async () => {
    server = await redis()
  })
  afterAll(() => server.stop())
  for (const { title, run } of behaviours) test(title, () => run({ open: async () => redisStore({ url: server.url }) }))
})
