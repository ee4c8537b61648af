import { redis } from '../../../../scripts/services/redis.ts'
import { schedules } from './suite.fixture.ts'

const server = redis()

schedules({
  name: 'redis',
  count: 30,
  lanes: 16,
  url: async () => (await server).url,
  close: async () => (await server).stop(),
})
