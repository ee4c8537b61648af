import { redis } from '../../../../scripts/services/redis.ts'
import { redisStore } from '../redis/index.ts'
import { schedules } from './suite.fixture.ts'

const server = redis()

schedules({
  name: 'redis',
  lanes: 4,
  count: 100,
  first: 501,
  async open(lane) {
    const { url } = await server
    const handle = () => redisStore({ url, prefix: `chaos${lane}:` })
    return { handles: [handle(), handle()] }
  },
  close: async () => (await server).stop(),
})
