import { redis } from '../../../../../scripts/services/redis.ts'
import { livenessTests } from './liveness.fixture.ts'

livenessTests('Redis', async () => {
  const { url, stop } = await redis()
  return { specOf: index => ({ kind: 'redis', url, prefix: `liveness${index}:`, timeoutMs: 5_000 }), stop }
})
