import { describe, expect, test } from 'vitest'
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

    test.each(benchmark.contenders)('$name is refused the output of another input', async ({ prepare }) => {
      const job = await prepare(ITEMS, 0)
      job.check(await job.run())
      const other = await prepare(ITEMS - 100, 0)
      const output = await other.run()
      expect(() => job.check(output)).toThrow()
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
