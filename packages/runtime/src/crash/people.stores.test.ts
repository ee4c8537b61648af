import type { LogStore } from '@millrace/log'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Random } from '../../../../scripts/faults/random.ts'
import { type Death, live } from './lives.fixture.ts'
import { FAST, PROMPT } from './plan.fixture.ts'
import { BACKENDS, type Backend } from './stores.fixture.ts'
import { undisturbed } from './suite.fixture.ts'
import type { Happened } from './verdict.fixture.ts'

/** So many schedules at a time: each waits for its store most of the time. */
const LANES = 4
const TIMEOUT = { timeout: 120_000 }
const RUNS = Number(process.env['MILLRACE_RUNS'] ?? 1)
const FIRST = Number(process.env['MILLRACE_SEED'] ?? 1)
/** From how many appends to the next a process is killed, and from which on: all together it is killed after each. */
const STEP = Math.max(1, Math.round(2 / RUNS))
const FROM = { sqlite: 1, redis: 2, postgres: 1 } as const

describe.each(['sqlite', 'redis', 'postgres'] as const)('%s: the program with people', name => {
  let backend: Backend
  let stores: readonly LogStore[]
  let happened: Happened
  let appends: number
  beforeAll(async () => {
    backend = await BACKENDS[name]()
    stores = Array.from({ length: LANES }, (_, lane) => backend.open(lane))
    happened = (await undisturbed({ ...FAST, crowd: PROMPT })).happened
    const calm = await live(stores[0] as LogStore, [], { when: 'asked', errs: true }, happened)
    expect(calm.violations).toEqual([])
    appends = calm.appends
  }, 60_000)
  afterAll(async () => {
    for (const store of stores) await store.close()
    await backend.close()
  })

  /** Lives all of them, some at a time; every fourth with people who make mistakes. */
  async function all(schedules: readonly (readonly Death[])[], seed: number): Promise<void> {
    let at = 0
    await Promise.all(
      stores.map(async store => {
        for (let index = at++; index < schedules.length; index = at++) {
          const deaths = schedules[index] as readonly Death[]
          const random = new Random(seed + index)
          const manner = { when: random.pick(['asked', 'paused', 'told'] as const), errs: random.below(4) === 0 }
          const { violations } = await live(store, deaths, manner, happened)
          expect(violations, `${JSON.stringify(deaths)} ${JSON.stringify(manner)}`).toEqual([])
        }
      }),
    )
  }

  /** Deaths at appends of the run, so many from each to the next. */
  const everywhere = (when: Death['when'], step: number, from = 1): Death[][] =>
    Array.from({ length: Math.ceil((appends + 1 - from) / step) }, (_, index) => [
      { append: from + index * step, when },
    ])

  test(`killed just after one append in ${STEP}, before it is told so`, TIMEOUT, async () => {
    expect(appends).toBeGreaterThan(40)
    await all(everywhere('after', STEP, Math.min(STEP, FROM[name])), FIRST)
  })

  // Who dies before an append has died after the one before it, but for what it did meanwhile.
  test('killed just before some appends', TIMEOUT, () => all(everywhere('before', 6), FIRST))

  test('killed twice, anywhere', TIMEOUT, async () => {
    const random = new Random(FIRST)
    const death = (most: number): Death => ({
      append: random.between(1, most),
      when: random.pick(['before', 'after'] as const),
    })
    const count = Math.ceil(8 * RUNS)
    await all(
      Array.from({ length: count }, () => [death(appends), death(appends >> 1)]),
      FIRST,
    )
  })
})
