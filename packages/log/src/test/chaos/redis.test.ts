import { redis } from '../../../../../scripts/services/redis.ts'
import { redisStore } from '../../stores/redis/index.ts'
import { schedules } from './log-schedule-suite.fixture.ts'

const server = redis()

schedules({
  name: 'redis',
  storeCount: 1,
  failed: { every: 2, offset: 0 },
  count: 8,
  first: 57,
  async open(index) {
    const { url } = await server
    const handle = async () => {
      // Long enough for a busy machine. Above 30 s, the timer of the store, a sixth of it, would count as left behind.
      const store = redisStore({ url, prefix: `chaos${index}:`, timeoutMs: 25_000 })
      // The first call connects.
      await store.list(null, 1)
      return store
    }
    return { handles: [await handle(), await handle()] }
  },
  close: async () => (await server).stop(),
})
