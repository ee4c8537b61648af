import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  firstSeed,
  isCampaign,
  multiplied,
  reportFailed,
  reportPlayed,
  scheduleCount,
} from '../../../../../scripts/faults/campaign.ts'
import { FAILED_SEEDS } from './log-failed-seeds.fixture.ts'
import { type Report, schedule } from './log-schedule.fixture.ts'
import type { ScheduleStore } from './schedule-world.fixture.ts'

/** Upper bound for one schedule on a loaded machine. */
const SCHEDULE_MS = 30_000
const MIN_TIMEOUT_MS = 180_000
/** The longest timeout that a timer supports, in ms. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1
const SHOWN_STEPS = 120

/** A store to play schedules on. Each opened store plays its schedules one after another. */
export interface Backend {
  readonly name: string
  /** How many stores are opened and play schedules at the same time. */
  readonly storeCount: number
  /**
   * How many schedules `npm test` plays, and from which seed. A seed does the same on every store, so each store has its own range. Stores
   * with slower calls play fewer.
   */
  readonly count: number
  readonly first: number
  /**
   * Which of the failed seeds `npm test` plays: every one by default. All of them found faults of the manager, which the memory store shows as
   * well, so slow stores play a part each. `npm run chaos` plays all of them.
   */
  readonly failed?: { readonly every: number; readonly offset: number }
  open(index: number): Promise<ScheduleStore>
  close?(): Promise<void>
}

/** Plays the seeds that failed before, then a range of others. */
export function schedules({ name, storeCount, open, close, failed, ...seeds }: Backend): void {
  const count = scheduleCount(seeds.count)
  const first = firstSeed(seeds.first)
  describe(`schedules with faults on ${name}`, () => {
    const stores: ScheduleStore[] = []
    beforeAll(async () => {
      for (let index = 0; index < storeCount; index++) stores.push(await open(index))
    })
    afterAll(async () => {
      for (const { handles } of stores) await Promise.all(handles.map(store => store.close()))
      await close?.()
    })

    if (!isCampaign()) {
      const { every, offset } = multiplied(1) > 1 || failed === undefined ? { every: 1, offset: 0 } : failed
      for (const [i, [seed, found]] of FAILED_SEEDS.entries()) {
        if (i % every !== offset) continue
        test(`seed ${seed}: ${found}`, async () => expectPassed(await schedule(seed, stores[0] as ScheduleStore), name))
      }
    }

    const timeoutMs = Math.min(Math.max(MIN_TIMEOUT_MS, count * SCHEDULE_MS), MAX_TIMEOUT_MS)
    test(`every law holds in ${count} schedules from seed ${first}`, { timeout: timeoutMs }, async () => {
      let next = first
      const end = first + count
      const run = async (scheduleStore: ScheduleStore) => {
        while (next < end) {
          const report = await schedule(next++, scheduleStore)
          // The other stores stop early.
          if (report.violations.length > 0) next = end
          expectPassed(report, name)
        }
      }
      const results = await Promise.allSettled(stores.map(run))
      for (const result of results) if (result.status === 'rejected') throw result.reason
    })
  })
}

function expectPassed({ seed, violations, trace, operations, faults, deaths }: Report, name: string): void {
  const replayCommand = `npm run chaos -- --runs 1 --seed ${seed} packages/log/src/test/chaos/${name}`
  if (violations.length > 0) reportFailed({ seed, again: replayCommand })
  const end = trace.slice(-SHOWN_STEPS).join('\n')
  expect(violations, `seed ${seed} on ${name}; to run it again: ${replayCommand}\n${end}\n`).toEqual([])
  expect(operations).toBeGreaterThanOrEqual(200)
  reportPlayed({ faults, deaths })
}
