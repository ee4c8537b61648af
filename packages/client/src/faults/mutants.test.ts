import { afterEach, describe, expect, test, vi } from 'vitest'
import { House } from './house.fixture.ts'
import { MUTANTS } from './mutants.fixture.ts'
import { schedule } from './schedule.fixture.ts'

/** By so many seeds each is found: most by the first few, the rarest by one in forty. */
const SEEDS = 400
const LANES = 12
/** Some break a client so that nobody gets on. */
const GIVE_UP_MS = 6_000

describe('what the schedules are to find is found', () => {
  afterEach(() => vi.restoreAllMocks())

  test.each(MUTANTS.map(mutant => [mutant.name, mutant] as const))('%s', { timeout: 240_000 }, async (_, mutant) => {
    mutant.breaks()
    const house = await House.open()
    const seen = new Set<string>()
    const found = new AbortController()
    let next = 1
    await Promise.all(
      Array.from({ length: LANES }, async () => {
        while (next <= SEEDS && !found.signal.aborted) {
          const signal = AbortSignal.any([found.signal, AbortSignal.timeout(GIVE_UP_MS)])
          const { problems } = await schedule(next++, house, 'broken', signal)
          // What is given up since another was found says nothing.
          if (found.signal.aborted) return
          for (const problem of problems) seen.add(problem.slice(0, 200))
          if (problems.some(problem => mutant.found.test(problem))) found.abort()
        }
      }),
    )
    expect(found.signal.aborted, [...seen].join('\n')).toBe(true)
    vi.restoreAllMocks()
    await house.close()
  })
})
