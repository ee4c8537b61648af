import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { House } from './house.fixture.ts'
import { schedule } from './schedule.fixture.ts'
import { KEPT } from './seeds.fixture.ts'

interface Suite {
  readonly name: string
  /** How many schedules, unless more are asked for. */
  readonly count: number
  /** How many play at a time, in one house. */
  readonly lanes: number
  /** Where the logs are; in memory, if nothing is said. */
  readonly url?: string
}

const RUNS = Number(process.env['MILLRACE_RUNS'] ?? 1)
const FIRST = Number(process.env['MILLRACE_SEED'] ?? 1)
/** What a schedule may take at most, on a machine that has others to do. */
const SCHEDULE_MS = 5_000
/** When so many have failed, the others need not go on. */
const MOST_FAILURES = 5

/** Declares the tests of a store. */
export function schedules({ name, count, lanes, url }: Suite): void {
  const total = Number(process.env['MILLRACE_SCHEDULES'] ?? Math.ceil(count * RUNS))
  describe(`${name}: whoever looks is shown the right words, once`, () => {
    let house: House
    let from = 0
    const sum = { played: 0, connections: 0, tampered: 0, tabs: 0 }
    beforeAll(async () => {
      house = await House.open(url)
      from = performance.now()
    })
    afterAll(async () => {
      const seconds = ((performance.now() - from) / 1000).toFixed(1)
      const { played, connections, tampered, tabs } = sum
      console.log(
        `${name}: ${played} schedules, ${tabs} tabs, ${connections} connections, ${tampered} frames tampered with, the server ${house.away} times away, in ${seconds} s, seeds from ${FIRST}`,
      )
      await house.close()
    })

    /** What was wrong with a schedule, and how to play it again; nothing, if all was right. */
    async function play(seed: number): Promise<string | undefined> {
      const report = await schedule(seed, house, `${sum.played++}`)
      sum.connections += report.connections
      sum.tampered += report.tampered
      sum.tabs += report.tabs
      if (report.problems.length === 0) return undefined
      const again = `npm run chaos -- --runs 1 --seed ${seed} packages/client/src/faults/${name}`
      const failure = [`seed ${seed} on ${name}; to play it again: ${again}`, ...report.problems, ...report.notes]
      // Said at once: who plays thousands need not wait for the last.
      console.log(failure.join('\n  '))
      return failure.join('\n  ')
    }

    for (const [seed, found] of KEPT[name] ?? []) {
      test(`seed ${seed}: ${found}`, async () => expect(await play(seed)).toBeUndefined())
    }

    const timeout = 30_000 + total * SCHEDULE_MS
    test(`laws 2 and 7: seeds from ${FIRST}, ${total} of them`, { timeout }, async () => {
      const failures: string[] = []
      let next = FIRST
      const end = FIRST + total
      await Promise.all(
        Array.from({ length: lanes }, async () => {
          while (next < end && failures.length < MOST_FAILURES) failures.push(...[(await play(next++)) ?? []].flat())
        }),
      )
      expect(failures, failures.join('\n')).toEqual([])
    })
  })
}
