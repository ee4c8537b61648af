import { postgres } from '../../../../../scripts/services/postgres.ts'
import { schedules } from './process-schedules.fixture.ts'
import { POSTGRES_KINDS } from './schedule-kinds.fixture.ts'

schedules({
  name: 'postgres',
  count: 10,
  every: { tools: 61, approvals: 91 },
  from: { tools: 36, approvals: 60 },
  kinds: POSTGRES_KINDS,
  async start() {
    // No test here cuts the power: others cover what a crash of Postgres can lose.
    const settings = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', autovacuum: 'off' }
    const { url, stop } = await postgres({ settings })
    return { specOf: index => ({ kind: 'postgres', url, schema: `schedules${index}`, timeoutMs: 5_000 }), stop }
  },
})
