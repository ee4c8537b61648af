import { postgres } from '../../../../scripts/services/postgres.ts'
import { postgresStore } from '../postgres/index.ts'
import { schedules } from './suite.fixture.ts'

// Here no power is cut: what a crash can lose is for other tests.
const server = postgres({
  settings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', autovacuum: 'off' },
})

schedules({
  name: 'postgres',
  lanes: 4,
  count: 100,
  first: 601,
  async open(lane) {
    const { url } = await server
    const handle = () => postgresStore({ url, schema: `chaos${lane}`, poolSize: 2 })
    return { handles: [handle(), handle()] }
  },
  close: async () => (await server).stop(),
})
