// Schedules from seeds: which are played on a store, and what is looked at after each. A seed says all: what happens, to whom and when.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { decodeCursor, isGuest } from '@millrace/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Line } from '../crash/ledger.fixture.ts'
import { SESSION } from '../crash/program.fixture.ts'
import { type Happened, verdict } from '../crash/verdict.fixture.ts'
import { Pool } from './pool.fixture.ts'
import { Random } from './random.fixture.ts'
import { KEPT } from './seeds.fixture.ts'
import { Place, Stage } from './stage.fixture.ts'
import type { Moment, Point, StoreSpec } from './told.fixture.ts'

/** One kind of schedule, by what it shows, and what share of the seeds is of it. */
export interface Kind {
  readonly title: string
  readonly share: number
  play(stage: Stage): Promise<unknown>
}

export interface Backend {
  readonly name: StoreSpec['kind']
  /** How many schedules, unless more are asked for. */
  readonly count: number
  /** How many play at a time, each on a place of its own. */
  readonly lanes: number
  readonly kinds: readonly Kind[]
  /** Of the points of an undisturbed run, every how-manieth is died at. */
  readonly every: number
  /** Where a lane plays. */
  spec(lane: number, folder: string): Promise<StoreSpec>
  close?(): Promise<void>
  dieAt(stage: Stage, moment: Omit<Moment, 'of' | 'does'>): Promise<Point | undefined>
}

const FIRST = Number(process.env['MILLRACE_SEED'] ?? 1)
/** What a schedule may take at most, on a machine that has others to do. */
const SCHEDULE_MS = 10_000

/** Declares the tests of a backend. */
export function schedules(backend: Backend): void {
  const { name, kinds, lanes } = backend
  const asked = process.env['MILLRACE_SCHEDULES']
  const count = Number(asked ?? Math.ceil(backend.count * Number(process.env['MILLRACE_RUNS'] ?? 1)))
  // Each kind has its share of any row of seeds.
  const slots = kinds.flatMap(kind => Array.from({ length: kind.share }, () => kind))
  const kindOf = (seed: number) => slots[seed % slots.length] as Kind
  const seeds = Array.from({ length: count }, (_, i) => FIRST + i)

  describe(`${name}, with real processes`, () => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-process-'))
    const places: Place[] = []
    let pool: Pool
    let undisturbed: Happened
    let points: number
    beforeAll(async () => {
      pool = new Pool(name, lanes + 1)
      for (let lane = 0; lane < lanes; lane++) places.push(await Place.open(await backend.spec(lane, folder), folder))
      const calm = await perform(new Stage(places[0] as Place, pool, new Random(0), 'undisturbed'), async stage => {
        await stage.worker()
        await stage.over()
      })
      undisturbed = calm.happened
      points = calm.points
    }, 60_000)
    afterAll(async () => {
      for (const place of places) await place.close()
      await pool.stop()
      await backend.close?.()
      rmSync(folder, { recursive: true })
    })

    /** Plays one after another in each lane; the first failure is thrown when all have stopped. */
    async function each<T>(jobs: readonly T[], play: (job: T, place: Place) => Promise<void>): Promise<void> {
      const waiting = [...jobs]
      const results = await Promise.allSettled(
        places.map(async place => {
          for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) {
            await play(job, place).catch(error => {
              // The others need not go on.
              waiting.length = 0
              throw error
            })
          }
        }),
      )
      for (const result of results) if (result.status === 'rejected') throw result.reason
    }

    async function run(id: string, seed: number, place: Place, play: (stage: Stage) => Promise<unknown>) {
      const stage = new Stage(place, pool, new Random(seed), id, undisturbed.view)
      try {
        const { happened } = await perform(stage, play)
        expect([...verdict(happened, { undisturbed }), ...epochProblems(stage)]).toEqual([])
      } catch (error) {
        // Whatever state it has failed in; what fails here only follows from that.
        await stage.abandon().catch(() => {})
        const said = error instanceof Error ? error : new Error(String(error))
        said.message = `${id}: ${said.message}\n  ${stage.notes.join('\n  ')}`
        throw said
      }
    }

    const runSeed = (seed: number, place: Place) => {
      const { title, play } = kindOf(seed)
      const again = `npm run chaos -- --runs 1 --seed ${seed} packages/runtime/src/process/${name}`
      return run(`seed-${seed}`, seed, place, stage => {
        stage.notes.push(title, `to play it again: ${again}`)
        return play(stage)
      })
    }

    for (const [seed, found] of KEPT[name] ?? [])
      test(`seed ${seed}: ${found}`, () => runSeed(seed, places[0] as Place))

    if (asked === undefined) {
      const which = backend.every === 1 ? 'every one' : `one in ${backend.every}`
      test(`kill -9 just before and after what changes the store, ${which}`, { timeout: 300_000 }, async () => {
        const moments = Array.from(
          { length: Math.floor((2 * points) / backend.every) },
          (_, i): Omit<Moment, 'of' | 'does'> => {
            const at = i * backend.every
            return { n: 1 + (at >> 1), when: at % 2 === 0 ? 'before' : 'after' }
          },
        )
        const died: Record<string, number> = {}
        await each(moments, async (moment, place) => {
          await run(`point-${moment.n}-${moment.when}`, moment.n, place, async stage => {
            const point = (await backend.dieAt(stage, moment)) ?? 'not reached'
            died[point] = (died[point] ?? 0) + 1
          })
        })
        console.log(`${name}: ${moments.length} moments: ${JSON.stringify(died)}`)
      })
    }

    for (const kind of kinds) {
      const own = seeds.filter(seed => kindOf(seed) === kind)
      if (own.length === 0) continue
      test(`${kind.title}: ${own.length} schedules`, { timeout: own.length * SCHEDULE_MS }, async () => {
        const from = performance.now()
        const { killed } = pool
        await each(own, runSeed)
        const ms = Math.round(performance.now() - from)
        console.log(`${name}: ${own.length} schedules, ${pool.killed - killed} deaths in ${ms} ms: ${kind.title}`)
      })
    }
  })
}

/** Plays a schedule to its end; what happened in it, and how many points the processes came to that were not killed. */
async function perform(stage: Stage, play: (stage: Stage) => Promise<unknown>) {
  await stage.begin()
  await play(stage)
  const counts = await stage.leave()
  const { manager } = stage.place.runtime
  const { view, cursor } = await manager.view(SESSION)
  const entries = await manager.entries(SESSION, 0, cursor.sequence)
  const lines = readFileSync(stage.ledger, 'utf8')
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as Line)
  rmSync(stage.ledger)
  const happened: Happened = { entries, view, lines }
  const points = counts.reduce((sum, own) => sum + Object.values(own ?? {}).reduce((all, n) => all + n, 0), 0)
  return { happened, points }
}

const BEGINS = new Set(['run-started', 'executor-superseded', 'run-resumed'])

/** Law 4: that who was taken over from said nothing after that. */
function epochProblems({ seen }: Stage): string[] {
  const problems: string[] = []
  const over = new Set<string>()
  let current: string | undefined
  for (const { cursor, origin, chunk, sequence } of seen) {
    const { epoch } = decodeCursor(cursor) as { epoch: string }
    if (isGuest(origin) || epoch === current) continue
    if (over.has(epoch)) problems.push(`entry ${sequence}: ${epoch} was taken over from before`)
    if (!BEGINS.has(chunk.type)) problems.push(`entry ${sequence}: ${epoch} begins with ${chunk.type}`)
    if (current !== undefined) over.add(current)
    current = epoch
  }
  return problems
}
