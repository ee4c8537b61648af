import { postgres } from '../../../../scripts/services/postgres.ts'
import { diesAt } from './death-schedules.fixture.ts'
import { SERVER_KINDS } from './kinds.fixture.ts'
import { schedules } from './process-schedules.fixture.ts'

// Here no power is cut: what a crash of the server can lose is for other tests.
const server = postgres({
  settings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', autovacuum: 'off' },
})

schedules({
  name: 'postgres',
  count: 50,
  lanes: 3,
  every: { pond: 13, mill: 17 },
  dieAt: diesAt,
  spec: async lane => ({ kind: 'postgres', url: (await server).url, schema: `lane${lane}`, timeout: 5_000 }),
  close: async () => (await server).stop(),
  kinds: SERVER_KINDS,
})
