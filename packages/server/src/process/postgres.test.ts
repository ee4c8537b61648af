import { postgres } from '../../../../scripts/services/postgres.ts'
import { schedules } from './suite.fixture.ts'

// Here no power is cut: what a crash of the server can lose is for other tests.
const server = postgres({
  settings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', autovacuum: 'off' },
})

schedules({
  name: 'postgres',
  count: 30,
  lanes: 16,
  url: async () => (await server).url,
  close: async () => (await server).stop(),
})
