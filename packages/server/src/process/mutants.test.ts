import { afterEach, describe, expect, test, vi } from 'vitest'
import { MUTANTS } from './mutants.fixture.ts'
import { NearHouse } from './near.fixture.ts'
import { schedule } from './schedule.fixture.ts'

/** By so many seeds each is found. */
const SEEDS = 80
const LANES = 8
/** Some break a server so that nobody gets on. */
const GIVE_UP_MS = 10_000

describe('what the schedules are to find is found', () => {
  afterEach(() => vi.restoreAllMocks())

  test('and nothing in a server that is whole', async () => {
    const house = await NearHouse.open()
    const seeds = Array.from({ length: LANES }, (_, n) => n + 1)
    const reports = await Promise.all(seeds.map(seed => schedule(seed, house, 'whole')))
    expect(reports.flatMap(({ problems }) => problems)).toEqual([])
    await house.close()
  })

  test.each(MUTANTS.map(mutant => [mutant.name, mutant] as const))('%s', { timeout: 120_000 }, async (_, mutant) => {
    mutant.breaks()
    const house = await NearHouse.open()
    const seen = new Set<string>()
    let next = 1
    let isFound = false
    await Promise.all(
      Array.from({ length: LANES }, async () => {
        while (next <= SEEDS && !isFound) {
          const { problems } = await schedule(next++, house, 'broken', GIVE_UP_MS)
          isFound ||= problems.some(problem => mutant.found.test(problem))
          for (const problem of problems) seen.add(problem.slice(0, 200))
        }
      }),
    )
    expect(isFound, [...seen].join('\n')).toBe(true)
    vi.restoreAllMocks()
    await house.close()
  })
})
