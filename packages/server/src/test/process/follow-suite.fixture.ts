import { scheduleSuite } from '../../../../../scripts/faults/sessions/schedule-suite.fixture.ts'
import { FAILED_SEEDS } from './follow-failed-seeds.fixture.ts'
import { type FollowReport, playFollowSchedule } from './follow-schedule.fixture.ts'
import { ProcessCluster } from './process-cluster.fixture.ts'

type Store = { readonly url: string; stop(): Promise<unknown> }

interface FollowSuite {
  readonly name: 'sqlite' | 'redis' | 'postgres'
  /** Number of schedules that `npm test` plays. */
  readonly count: number
  /** The seed of the first schedule. Each store plays different seeds. */
  readonly first: number
  /** Starts a store. */
  start(): Promise<Store>
}

/** Number of schedules that run at the same time on one cluster. */
const CONCURRENCY = 12

/** Declares the test of a store. */
export function followSuite({ name, count, first, start }: FollowSuite): void {
  let store: Store | undefined
  scheduleSuite<ProcessCluster, FollowReport>({
    law: `laws 2, 7 and 10: each follower on ${name} gets every entry once while processes are killed`,
    file: `packages/server/src/test/process/${name}`,
    count,
    first,
    concurrency: CONCURRENCY,
    failedSeeds: FAILED_SEEDS[name],
    async open() {
      store = await start()
      return ProcessCluster.open(store.url)
    },
    async close(cluster) {
      await cluster.close()
      await store?.stop()
    },
    play: playFollowSchedule,
    killed: ({ killed: { servers, workers } }) => servers + workers,
    serverErrors: cluster => cluster.serverErrors,
    summary(reports, { killed: { servers, workers } }) {
      const drops = reports.reduce((sum, report) => sum + report.drops, 0)
      return `${reports.length} schedules, ${drops} lost connections, ${servers} servers and ${workers} workers killed`
    },
  })
}
