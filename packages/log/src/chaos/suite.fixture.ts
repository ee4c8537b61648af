import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Report, schedule } from './schedule.fixture.ts'
import { KEPT } from './seeds.fixture.ts'
import type { Place } from './world.fixture.ts'

const RUNS = Number(process.env['MILLRACE_RUNS'] ?? 1)
/** What a schedule may take at most, on a machine that has others to do. */
const SCHEDULE_MS = 5_000
const SHOWN_STEPS = 120

/** What logs a backend has: each lane is a place of its own, where one schedule after the other runs. */
export interface Backend {
  readonly name: string
  readonly lanes: number
  /**
   * How many schedules, unless more are asked for, and from which seed on: a seed does the same on every store, so each has its own, and fewer where a call takes
   * longer.
   */
  readonly count: number
  readonly first: number
  open(lane: number): Promise<Place>
  close?(): Promise<void>
}

/** Runs the kept seeds, and then as many others as are asked for. */
export function schedules({ name, lanes, open, close, ...seeds }: Backend): void {
  const count = Number(process.env['MILLRACE_SCHEDULES'] ?? Math.ceil(seeds.count * RUNS))
  const first = Number(process.env['MILLRACE_SEED'] ?? seeds.first)
  describe(`schedules with faults on ${name}`, () => {
    const places: Place[] = []
    beforeAll(async () => {
      for (let lane = 0; lane < lanes; lane++) places.push(await open(lane))
    })
    afterAll(async () => {
      for (const { handles } of places) await Promise.all(handles.map(store => store.close()))
      await close?.()
    })

    for (const [seed, found] of KEPT) {
      test(`seed ${seed}: ${found}`, async () => passed(await schedule(seed, places[0] as Place), name))
    }

    test(`seeds from ${first}, ${count} of them`, { timeout: count * SCHEDULE_MS }, async () => {
      let next = first
      const end = first + count
      const run = async (place: Place) => {
        while (next < end) {
          const report = await schedule(next++, place)
          // The others need not go on.
          if (report.violations.length > 0) next = end
          passed(report, name)
        }
      }
      const results = await Promise.allSettled(places.map(run))
      for (const result of results) if (result.status === 'rejected') throw result.reason
    })
  })
}

function passed({ seed, violations, trace, operations }: Report, name: string): void {
  const again = `npm run chaos -- --runs 1 --seed ${seed} packages/log/src/chaos/${name}`
  const end = trace.slice(-SHOWN_STEPS).join('\n')
  expect(violations, `seed ${seed} on ${name}; to run it again: ${again}\n${end}\n`).toEqual([])
  expect(operations).toBeGreaterThanOrEqual(200)
}
