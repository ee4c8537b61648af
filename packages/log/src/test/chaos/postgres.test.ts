import { postgres } from '../../../../../scripts/services/postgres.ts'
import { postgresStore } from '../../stores/postgres/index.ts'
import { schedules } from './log-schedule-suite.fixture.ts'

// No test here crashes the server, so it does not sync to disk.
const server = postgres({
  settings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', autovacuum: 'off' },
})

schedules({
  name: 'postgres',
  storeCount: 1,
  failed: { every: 2, offset: 1 },
  count: 5,
  first: 65,
  async open(index) {
    const { url } = await server
    const handle = () => postgresStore({ url, schema: `chaos${index}`, poolSize: 2, timeoutMs: 60_000 })
    return { handles: [handle(), handle()] }
  },
  close: async () => (await server).stop(),
})
