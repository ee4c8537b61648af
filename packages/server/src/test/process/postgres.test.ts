import { postgres } from '../../../../../scripts/services/postgres.ts'
import { followSuite } from './follow-suite.fixture.ts'

// No test here cuts the power: others cover what a crash of Postgres can lose.
const settings = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', autovacuum: 'off' }

followSuite({ name: 'postgres', count: 15, first: 46, start: () => postgres({ settings }) })
