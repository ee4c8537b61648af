import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { closeAll } from './harness/closing.ts'
import { Services } from './harness/services.ts'
import { suites } from './suites/index.ts'

/** Those whose contenders have servers, stores or browsers beside them. */
const SERVED: ReadonlySet<string> = new Set(['log', 'runtime', 'server', 'scale', 'screen'])

/** Tries each contender of some suites with a little work: those that are served, or those that compute alone. */
export function tryContenders(which: 'served' | 'alone'): void {
  const services = new Services()
  afterAll(() => services.stop())

  const all = suites
    .filter(({ name }) => SERVED.has(name) === (which === 'served'))
    .flatMap(({ name, benchmarks, trial: items = 1000 }) =>
      benchmarks(true).map(benchmark => ({ suite: name, benchmark, items: benchmark.trial ?? items })),
    )

  describe.each(all)('$suite/$benchmark.name', ({ benchmark, items }) => {
    beforeAll(() => services.need(benchmark.needs ?? []))
    afterAll(closeAll)

    test.each(benchmark.contenders)('$name does its work, with any input of its own', async ({ prepare }) => {
      for (const piece of [0, 1]) {
        const job = await prepare(items, piece)
        await job.check(await job.run())
      }
    })

    test.each(benchmark.contenders)('$name is refused the output of another input', async ({ prepare }) => {
      const job = await prepare(items, 0)
      await job.check(await job.run())
      const other = await prepare(Math.floor(items * 0.9), 0)
      const output = await other.run()
      await expect((async () => job.check(output))()).rejects.toThrow()
    })

    test('every claim and the reference name a contender', () => {
      const names = benchmark.contenders.map(({ name }) => name)
      const named = benchmark.claims.flatMap(({ kind: _, ...claim }) =>
        Object.values(claim).filter(value => typeof value === 'string'),
      )
      expect(names).toEqual(expect.arrayContaining([...named, benchmark.reference ?? names[0]]))
      expect(new Set(names).size).toBe(names.length)
    })
  })
}
