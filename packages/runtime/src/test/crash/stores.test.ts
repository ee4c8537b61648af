// The programs of the simulated schedules on real stores, in real time: the next driver finds what the dead one had
// appended.

import type { LogStore } from '@millrace/log'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { firstSeed, multiplied, reportPlayed } from '../../../../../scripts/faults/campaign.ts'
import { Random } from '../../../../../scripts/faults/random.ts'
import { everyNth } from '../../every-nth.fixture.ts'
import { FAST, PROMPT } from './fault-plan.fixture.ts'
import { type Death, playDeaths } from './play-deaths.fixture.ts'
import { undisturbed } from './play-plans.fixture.ts'
import { BACKENDS, type Backend } from './stores.fixture.ts'
import type { Program } from './tools-program.fixture.ts'
import { flowOf } from './workflow.fixture.ts'
import { SCENARIOS } from './workflow.scenarios.fixture.ts'

/** How many schedules run at once. Each waits for its store most of the time. */
const LANES = 3
const FIRST = firstSeed()
/** A driver dies at every nth append, with another offset on each store. `npm run chaos` tests every append. */
const STEPS = { after: 12, before: 36, workflow: 7 }
const OFFSETS = { sqlite: 0, redis: 4, postgres: 8 } as const
/** How many schedules have two deaths, and how many random workflows are played. */
const PAIRS = multiplied(2)
const WORKFLOWS = multiplied(1)

describe.each(['sqlite', 'redis', 'postgres'] as const)('on %s', name => {
  let backend: Backend
  beforeAll(async () => {
    backend = await BACKENDS[name]()
  })
  afterAll(() => backend.close())

  const offset = OFFSETS[name]

  /** Plays all jobs, each lane on a store of its own. */
  async function playAll<Job>(jobs: readonly Job[], play: (job: Job, store: LogStore) => Promise<void>): Promise<void> {
    const remaining = [...jobs]
    const stores = Array.from({ length: Math.min(LANES, jobs.length) }, (_, lane) => backend.open(lane))
    const results = await Promise.allSettled(
      stores.map(async store => {
        try {
          for (let job = remaining.shift(); job !== undefined; job = remaining.shift()) await play(job, store)
        } finally {
          // A lane that has failed ends the others too.
          remaining.length = 0
          await store.close()
        }
      }),
    )
    for (const result of results) if (result.status === 'rejected') throw result.reason
  }

  test('a run that needs answers continues after deaths before and after its appends', async () => {
    const { record } = await undisturbed({ ...FAST, clients: PROMPT })
    let appends = 0
    await playAll([FIRST], async (_, store) => {
      const undisturbedRun = await playDeaths(store, [], { when: 'asked', makesMistakes: true }, record)
      expect(undisturbedRun.violations).toEqual([])
      appends = undisturbedRun.appends
    })
    expect(appends).toBeGreaterThan(40)
    const random = new Random(FIRST)
    const schedules = [
      ...everyNth(deathsAt(appends, 'after'), STEPS.after, offset),
      // A death before an append differs from one after the append before it only in what the driver did between them.
      ...everyNth(deathsAt(appends, 'before'), STEPS.before, offset),
      ...Array.from({ length: PAIRS }, () => pairOf(random, appends)),
    ]
    await playAll([...schedules.entries()], async ([index, deaths], store) => {
      const random = new Random(FIRST + index + offset)
      const answering = {
        when: random.pick(['asked', 'paused', 'on-fault'] as const),
        makesMistakes: random.below(4) === 0,
      }
      const { violations } = await playDeaths(store, deaths, answering, record)
      expect(violations, `${JSON.stringify(deaths)} ${JSON.stringify(answering)}`).toEqual([])
      reportPlayed({ faults: deaths.length, deaths: deaths.length })
    })
  })

  test('workflows continue after deaths after their appends', async () => {
    // Each store plays other scenarios; `npm run chaos` plays all on each.
    const programs = [
      ...everyNth(Object.values(SCENARIOS), 3, offset / 4),
      ...Array.from({ length: WORKFLOWS }, (_, index) => flowOf(FIRST + offset + index)),
    ]
    await playAll([...programs.entries()], async ([index, program], store) => {
      const { record } = await undisturbed({ ...FAST, clients: PROMPT }, { program })
      const play = async (deaths: readonly Death[], seed: number): Promise<number> => {
        const when = new Random(seed).pick(['asked', 'paused', 'on-fault'] as const)
        const { violations, appends } = await playDeaths(store, deaths, { when, makesMistakes: false }, record, program)
        expect(violations, `${JSON.stringify(deaths)}, answered when ${when}`).toEqual([])
        reportPlayed({ faults: deaths.length, deaths: deaths.length })
        return appends
      }
      const appends = await play([], FIRST)
      expect(appends).toBeGreaterThan(isScenario(program) ? 8 : 0)
      const random = new Random(FIRST + index)
      const schedules = isScenario(program)
        ? everyNth(deathsAt(appends, 'after'), STEPS.workflow, offset + index)
        : [pairOf(random, appends)]
      for (const deaths of schedules) await play(deaths, FIRST + offset + index)
    })
  })
})

const isScenario = (program: Program): boolean => Object.values(SCENARIOS).includes(program)

/** One death at each append of a run. */
const deathsAt = (appends: number, when: Death['when']): readonly (readonly Death[])[] =>
  Array.from({ length: appends }, (_, index) => [{ append: index + 1, when }])

/** The deaths of a driver and of the next one. */
function pairOf(random: Random, appends: number): readonly Death[] {
  const death = (max: number): Death => ({
    append: random.between(1, Math.max(1, max)),
    when: random.pick(['before', 'after'] as const),
  })
  return [death(appends), death(appends >> 1)]
}
