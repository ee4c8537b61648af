import { redis } from '../../../../../scripts/services/redis.ts'
import { schedules } from './process-schedules.fixture.ts'
import { REDIS_KINDS } from './schedule-kinds.fixture.ts'

schedules({
  name: 'redis',
  count: 11,
  every: { tools: 61, approvals: 91 },
  from: { tools: 7, approvals: 9 },
  kinds: REDIS_KINDS,
  async start() {
    const { url, stop } = await redis()
    return { specOf: index => ({ kind: 'redis', url, prefix: `schedules${index}:`, timeoutMs: 5_000 }), stop }
  },
})
