import { describe, expect, test } from 'vitest'
import type { Job } from './harness/suite.ts'
import { suites } from './suites/index.ts'

const ITEMS = 1000

describe.each(suites.flatMap(suite => suite.benchmarks(true).map(benchmark => ({ suite: suite.name, benchmark }))))(
  '$suite/$benchmark.name',
  ({ benchmark }) => {
    test.each(benchmark.contenders)('$name does its work, with any input of its own', async ({ prepare }) => {
      for (const piece of [0, 1]) {
        const job = await prepare(ITEMS, piece)
        job.check(await job.run())
      }
    })

    test('every claim and the reference name a contender', () => {
      const names = benchmark.contenders.map(({ name }) => name)
      const named = benchmark.claims.flatMap(({ kind: _, ...claim }) =>
        Object.values(claim).filter(value => typeof value === 'string'),
      )
      expect(names).toEqual(expect.arrayContaining([...named, benchmark.reference]))
      expect(new Set(names).size).toBe(names.length)
    })
  },
)

test('a wrong output is refused', async () => {
  for (const name of ['reduce', 'json', 'sse', 'validate', 'structured', 'patch']) {
    const contender = suites.find(suite => suite.name === name)?.benchmarks(true)[0]?.contenders[0]
    const job = (await contender?.prepare(ITEMS, 0)) as Job
    expect(() => job.check(undefined), name).toThrow()
  }
})
