import { afterEach, describe, expect, test, vi } from 'vitest'
import { MUTANTS } from './mutants.fixture.ts'
import { NearHouse } from './near.fixture.ts'
import { schedule } from './schedule.fixture.ts'

/** By so many seeds each is found. */
const SEEDS = 80
const LANES = 8
/** Some break a server so that nobody gets on; others are found only by who gets to the end, also on a machine that has others to do. */
const GIVE_UP_MS = 30_000
const TIMEOUT = { timeout: (SEEDS / LANES) * GIVE_UP_MS }

describe('what the schedules are to find is found', () => {
  afterEach(() => vi.restoreAllMocks())

  test('and nothing in a server that is whole', async () => {
    const house = await NearHouse.open()
    const seeds = Array.from({ length: LANES }, (_, n) => n + 1)
    const reports = await Promise.all(seeds.map(seed => schedule(seed, house, 'whole')))
    expect(reports.flatMap(({ problems }) => problems)).toEqual([])
    await house.close()
  })

  test.each(MUTANTS.map(mutant => [mutant.name, mutant] as const))('%s', TIMEOUT, async (_, mutant) => {
    mutant.breaks()
    const house = await NearHouse.open()
    const seen = new Set<string>()
    let next = 1
    const found = new AbortController()
    const { signal } = found
    await Promise.all(
      Array.from({ length: LANES }, async () => {
        while (next <= SEEDS && !signal.aborted) {
          const { problems } = await schedule(next++, house, 'broken', { giveUpMs: GIVE_UP_MS, signal })
          // The others need not go on.
          if (problems.some(problem => mutant.found.test(problem))) found.abort()
          for (const problem of problems) seen.add(problem.slice(0, 200))
        }
      }),
    )
    expect(signal.aborted, [...seen].join('\n')).toBe(true)
    vi.restoreAllMocks()
    await house.close()
  })
})
