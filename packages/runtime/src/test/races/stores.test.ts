import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { firstSeed, reportFailed, reportPlayed, scheduleCount } from '../../../../../scripts/faults/campaign.ts'
import { BACKENDS, type Backend } from '../crash/stores.fixture.ts'
import { planOf } from './race-plan.fixture.ts'
import { type Handles, realRace } from './real-time-race.fixture.ts'

const COUNT = scheduleCount(6)
const FIRST = firstSeed()
/** Each store plays other seeds. */
const OFFSETS = { sqlite: 0, redis: 1000, postgres: 2000 } as const

describe.each(['sqlite', 'redis', 'postgres'] as const)('law 5, on %s', name => {
  let backend: Backend
  beforeAll(async () => {
    backend = await BACKENDS[name]()
  })
  afterAll(() => backend.close())

  test(`exactly one wins, in ${COUNT} races`, async () => {
    const handles: Handles = [backend.open(0), backend.open(0), backend.open(0)]
    const first = FIRST + OFFSETS[name]
    try {
      for (let seed = first; seed < first + COUNT; seed++) {
        const plan = planOf(seed)
        const violations = await realRace(plan, handles)
        const replayCommand = `npm run chaos -- --runs 1 --seed ${seed - OFFSETS[name]} packages/runtime/src/test/races/stores`
        if (violations.length > 0) reportFailed({ seed, again: replayCommand })
        expect(violations, `${JSON.stringify(plan)}; to run it again: ${replayCommand}`).toEqual([])
        reportPlayed({})
      }
    } finally {
      for (const handle of handles) await handle.close()
    }
  })
})
