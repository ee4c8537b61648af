import { redis } from '../../../../scripts/services/redis.ts'
import { diesAt } from './death-schedules.fixture.ts'
import { SERVER_KINDS } from './kinds.fixture.ts'
import { schedules } from './process-schedules.fixture.ts'

const server = redis()

schedules({
  name: 'redis',
  count: 60,
  lanes: 3,
  every: { pond: 13, mill: 17 },
  from: { pond: 7, mill: 9 },
  dieAt: diesAt,
  spec: async lane => ({ kind: 'redis', url: (await server).url, prefix: `lane${lane}:`, timeout: 5_000 }),
  close: async () => (await server).stop(),
  kinds: SERVER_KINDS,
})
