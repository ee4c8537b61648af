import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { closeAll } from './harness/cleanup.ts'
import { Services } from './harness/services.ts'
import type { Benchmark, Contender, Suite } from './harness/suite.ts'
import { suites } from './suites/index.ts'

/** Suites with contenders that need servers, stores or browsers. */
const SERVED: ReadonlySet<string> = new Set(['log', 'runtime', 'server', 'scale', 'screen'])

/**
 * Contenders, as `suite/benchmark: name`, that repeat the work of another contender in a trial. They differ only in the measured unit or
 * in the size of the load.
 */
const SAME_TRIAL: readonly RegExp[] = [
  /^\w+\/[\w-]+-cpu:/,
  /^screen\/tokens-/,
  /^client\/document:/,
  /^server\/fan-out-1000:/,
  /^scale\/cold-start: .* 100 turns/,
  /^scale\/runs: .* (100|1,000) at once/,
  /^scale\/kills: .* (redis|postgres)/,
  /^runtime\/sub-agents: (1|100) /,
  /^dialects\/growth:/,
]

const DEFAULT_ITEMS = 200

/** Defines tests that run each contender with a small load: `served` for suites with services, `alone` for the others. */
export function tryContenders(which: 'served' | 'alone'): void {
  const services = new Services()
  afterAll(() => services.stop())

  describe.each(suites.filter(({ name }) => SERVED.has(name) === (which === 'served')))('$name', suite => {
    // The benchmarks of a suite share the servers, processes and browsers that their contenders open.
    afterAll(closeAll)
    describe.each(suite.benchmarks(true))('$name', benchmark => {
      tryBenchmark(suite, benchmark, services)
    })
  })
}

function tryBenchmark(suite: Suite, benchmark: Benchmark, services: Services): void {
  const { contenders, claims, reference, needs = [], trial = suite.trial ?? DEFAULT_ITEMS } = benchmark
  const nameOf = ({ name }: Contender) => `${suite.name}/${benchmark.name}: ${name}`
  const distinct = contenders.filter(contender => !SAME_TRIAL.some(pattern => pattern.test(nameOf(contender))))
  const outcomes = new Map<Contender, Promise<void>>()

  // Runs outside the tests, because a test must not leave shared resources open.
  beforeAll(async () => {
    await services.need(needs)
    for (const contender of distinct) {
      const outcome = tryContender(contender, trial)
      outcomes.set(contender, outcome)
      // The test of the contender reports the failure.
      await outcome.catch(() => {})
    }
  })

  for (const contender of distinct) {
    test(`${contender.name} passes its check, which rejects the output of another input`, async () => {
      await outcomes.get(contender)
    })
  }

  test('every claim and the reference name a contender', () => {
    const names = contenders.map(({ name }) => name)
    const named = claims.flatMap(({ kind: _, ...claim }) =>
      Object.values(claim).filter(value => typeof value === 'string'),
    )
    expect(names).toEqual(expect.arrayContaining([...named, reference ?? names[0]]))
    expect(new Set(names).size).toBe(names.length)
  })
}

async function tryContender({ prepare }: Contender, items: number): Promise<void> {
  const job = await prepare(items, 1)
  await job.check(await job.run())
  const other = await prepare(Math.ceil(items / 2), 1)
  const output = await other.run()
  await expect((async () => job.check(output))()).rejects.toThrow()
  await other.check(output)
}
