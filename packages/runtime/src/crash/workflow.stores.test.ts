import type { LogStore } from '@millrace/log'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Random } from '../../../../scripts/faults/random.ts'
import { type Death, live } from './lives.fixture.ts'
import { FAST, PROMPT } from './plan.fixture.ts'
import type { Program } from './program.fixture.ts'
import { schedule } from './schedule.fixture.ts'
import { BACKENDS, type Backend } from './stores.fixture.ts'
import type { Happened } from './verdict.fixture.ts'
import { flowOf } from './workflow.fixture.ts'
import { SCENARIOS, type ScenarioName } from './workflow.scenarios.fixture.ts'

/** So many at a time: each waits for its store most of the time. */
const LANES = 3
const TIMEOUT = { timeout: 180_000 }
const RUNS = Number(process.env['MILLRACE_RUNS'] ?? 1)
const FIRST = Number(process.env['MILLRACE_SEED'] ?? 1)
/** From how many appends to the next a process is killed, and from which on: all together it is killed after each. */
const STEPS = { sqlite: [3, 1], redis: [3, 2], postgres: [3, 3] } as const
/** How many workflows by chance. */
const COUNT = Math.ceil(3 * RUNS)

describe.each(['sqlite', 'redis', 'postgres'] as const)('%s: workflows', name => {
  let backend: Backend
  let stores: readonly LogStore[]
  beforeAll(async () => {
    backend = await BACKENDS[name]()
    stores = Array.from({ length: LANES }, (_, lane) => backend.open(lane))
  }, 60_000)
  afterAll(async () => {
    for (const store of stores) await store.close()
    await backend.close()
  })

  /** Does all of it, some at a time, each on a store of its own. */
  async function all<T>(jobs: readonly T[], play: (job: T, store: LogStore) => Promise<void>): Promise<void> {
    const left = [...jobs]
    await Promise.all(
      stores.map(async store => {
        for (let job = left.shift(); job !== undefined; job = left.shift()) await play(job, store)
      }),
    )
  }

  /** Lives so: the same comes of it as without a death. */
  async function lives(
    store: LogStore,
    program: Program,
    happened: Happened,
    deaths: readonly Death[],
    seed: number,
  ): Promise<number> {
    const when = new Random(seed).pick(['asked', 'paused', 'told'] as const)
    const { violations, appends } = await live(store, deaths, { when, errs: false }, happened, program)
    expect(violations, `${JSON.stringify(deaths)}, answered when ${when}`).toEqual([])
    return appends
  }

  const calm = (program: Program) => schedule({ ...FAST, crowd: PROMPT }, { program })

  const step = Math.max(1, Math.round(STEPS[name][0] / RUNS))

  test(`killed just after one append in ${step}, before it is told so`, TIMEOUT, async () => {
    await all(Object.keys(SCENARIOS) as ScenarioName[], async (scenario, store) => {
      const program = SCENARIOS[scenario]
      const { happened } = await calm(program)
      const appends = await lives(store, program, happened, [], FIRST)
      expect(appends).toBeGreaterThan(8)
      for (let append = Math.min(step, STEPS[name][1]); append <= appends; append += step) {
        await lives(store, program, happened, [{ append, when: 'after' }], FIRST + append)
      }
    })
  })

  test(`by chance, killed twice, ${COUNT} of them`, TIMEOUT, async () => {
    const seeds = Array.from({ length: COUNT }, (_, index) => FIRST + index)
    await all(seeds, async (seed, store) => {
      const program = flowOf(seed)
      const { happened } = await calm(program)
      const random = new Random(seed)
      const appends = await lives(store, program, happened, [], seed)
      const death = (most: number): Death => ({
        append: random.between(1, Math.max(1, most)),
        when: random.pick(['before', 'after'] as const),
      })
      await lives(store, program, happened, [death(appends), death(appends >> 1)], seed)
    })
  })
})
