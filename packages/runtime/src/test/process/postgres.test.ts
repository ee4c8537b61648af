import { postgres } from '../../../../../scripts/services/postgres.ts'
import { schedules } from './process-schedules.fixture.ts'
import { POSTGRES_KINDS } from './schedule-kinds.fixture.ts'

schedules({
  name: 'postgres',
  count: 10,
  every: { pond: 61, mill: 91 },
  from: { pond: 36, mill: 60 },
  kinds: POSTGRES_KINDS,
  async start() {
    // No power is cut here: other tests cover what a crash of the server can lose.
    const settings = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', autovacuum: 'off' }
    const { url, stop } = await postgres({ settings })
    return { specOf: lane => ({ kind: 'postgres', url, schema: `lane${lane}`, timeoutMs: 5_000 }), stop }
  },
})
