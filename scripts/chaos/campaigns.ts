/** One suite that plays schedules of faults by seeds, and how many of its schedules a nightly run aims at. */
export type Campaign = { readonly name: string; readonly file: string; readonly schedules: number }

const LOG = 'packages/log/src/test'
const RUNTIME = 'packages/runtime/src/test'
const SERVER = 'packages/server/src/test'
const CLIENT = 'packages/client/src'

/** All suites that play schedules. Those with real processes and servers are slower and aim at fewer. */
export const CAMPAIGNS: readonly Campaign[] = [
  { name: 'log, memory', file: `${LOG}/chaos/memory.test.ts`, schedules: 20_000 },
  { name: 'log, sqlite', file: `${LOG}/chaos/sqlite.test.ts`, schedules: 5_000 },
  { name: 'log, redis', file: `${LOG}/chaos/redis.test.ts`, schedules: 5_000 },
  { name: 'log, postgres', file: `${LOG}/chaos/postgres.test.ts`, schedules: 3_000 },
  { name: 'store deaths, sqlite', file: `${LOG}/faults/sqlite.test.ts`, schedules: 1_000 },
  { name: 'store deaths, redis', file: `${LOG}/faults/redis.test.ts`, schedules: 1_000 },
  { name: 'store deaths, postgres', file: `${LOG}/faults/postgres.test.ts`, schedules: 1_000 },
  { name: 'runs', file: `${RUNTIME}/crash/schedules.test.ts`, schedules: 20_000 },
  { name: 'runs with answers', file: `${RUNTIME}/crash/approvals.schedules.test.ts`, schedules: 20_000 },
  { name: 'workflows', file: `${RUNTIME}/crash/workflow.schedules.test.ts`, schedules: 20_000 },
  { name: 'races', file: `${RUNTIME}/races/races.test.ts`, schedules: 50_000 },
  { name: 'races, stores', file: `${RUNTIME}/races/stores.test.ts`, schedules: 500 },
  { name: 'processes, sqlite', file: `${RUNTIME}/process/sqlite.test.ts`, schedules: 2_000 },
  { name: 'processes, redis', file: `${RUNTIME}/process/redis.test.ts`, schedules: 2_000 },
  { name: 'processes, postgres', file: `${RUNTIME}/process/postgres.test.ts`, schedules: 2_000 },
  { name: 'server, sqlite', file: `${SERVER}/process/sqlite.test.ts`, schedules: 1_000 },
  { name: 'server, redis', file: `${SERVER}/process/redis.test.ts`, schedules: 1_000 },
  { name: 'server, postgres', file: `${SERVER}/process/postgres.test.ts`, schedules: 1_000 },
  { name: 'requests', file: `${SERVER}/requests/changed-requests.test.ts`, schedules: 1_000 },
  { name: 'client, memory', file: `${CLIENT}/test/faults/memory.test.ts`, schedules: 5_000 },
  { name: 'client, sqlite', file: `${CLIENT}/test/faults/sqlite.test.ts`, schedules: 2_000 },
  { name: 'page', file: 'packages/react/src/test/faults/page.test.ts', schedules: 200 },
]
