// Schedules from seeds: which are played on a store, and what is looked at after each. A seed says all: what happens, to whom and when.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { decodeCursor, isGuest } from '@millrace/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Random } from '../../../../scripts/faults/random.ts'
import type { Line } from '../crash/ledger.fixture.ts'
import { SESSION } from '../crash/pond-program.fixture.ts'
import { type Happened, verdict } from '../crash/run-verdict.fixture.ts'
import { crowdAt } from './people-schedules.fixture.ts'
import { PROGRAMS, type ProgramName } from './played-programs.fixture.ts'
import { Pool } from './pool.fixture.ts'
import { KEPT } from './process-failed-seeds.fixture.ts'
import type { Moment, Point, StoreSpec } from './process-messages.fixture.ts'
import { Place, Stage } from './process-stage.fixture.ts'
import { undisturbedRounds } from './workflow-schedules.fixture.ts'

/** One kind of schedule, by what it shows, and what share of the seeds is of it. */
export interface Kind {
  readonly title: string
  readonly share: number
  /** Which program; that which needs nobody, if nothing is said. */
  readonly program?: ProgramName
  play(stage: Stage): Promise<unknown>
}

export interface Backend {
  readonly name: StoreSpec['kind']
  /** How many schedules, unless more are asked for. */
  readonly count: number
  /** How many play at a time, each on a place of its own. */
  readonly lanes: number
  readonly kinds: readonly Kind[]
  /** Before and after every how-manieth point of a program a process is killed, beside the seeds. */
  readonly every: Readonly<Record<'pond' | 'mill', number>>
  /** From which on, where another store has those between; from the first, if nothing is said. */
  readonly from?: Readonly<Record<'pond' | 'mill', number>>
  /** Where a lane plays. */
  spec(lane: number, folder: string): Promise<StoreSpec>
  close?(): Promise<void>
  dieAt(stage: Stage, moment: Omit<Moment, 'of' | 'does'>): Promise<Point | undefined>
}

const RUNS = Number(process.env['MILLRACE_RUNS'] ?? 1)
const FIRST = Number(process.env['MILLRACE_SEED'] ?? 1)
/** What a schedule may take at most, on a machine that has others to do. */
const SCHEDULE_MS = 20_000

/** Declares the tests of a backend. */
export function schedules(backend: Backend): void {
  const { name, kinds, lanes } = backend
  const asked = process.env['MILLRACE_SCHEDULES']
  const count = Number(asked ?? Math.ceil(backend.count * RUNS))
  // Each kind has its share of any row of seeds.
  const slots = kinds.flatMap(kind => Array.from({ length: kind.share }, () => kind))
  const kindOf = (seed: number) => slots[seed % slots.length] as Kind
  const seeds = Array.from({ length: count }, (_, i) => FIRST + i)

  describe(`${name}, with real processes`, () => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-process-'))
    const places: Place[] = []
    let pool: Pool
    const undisturbed = new Map<ProgramName, Happened>()
    const flows = new Set(kinds.flatMap(({ program }) => (program && isFlow(program) ? [program] : [])))
    let from = 0
    let played = 0
    /** How often a process was killed at each point when every one was gone through. */
    const died: Record<string, number> = {}
    beforeAll(async () => {
      pool = new Pool(name, lanes + 1)
      for (let lane = 0; lane < lanes; lane++) places.push(await Place.open(await backend.spec(lane, folder), folder))
      for (const program of ['pond', 'mill', ...flows] as const) {
        const calm = new Stage(places[0] as Place, pool, new Random(0), { name: `calm-${program}`, program })
        const { judge = verdict } = PROGRAMS[program]
        const happened = await perform(calm, isFlow(program) ? undisturbedRounds : withAll)
        expect(judge(happened)).toEqual([])
        expect(happened.view.runs.map(({ status }) => status)).not.toContain('failed')
        undisturbed.set(program, happened)
      }
      from = performance.now()
    }, 60_000)
    afterAll(async () => {
      const seconds = ((performance.now() - from) / 1000).toFixed(1)
      const at = Object.entries(died).map(([point, n]) => `${n} ${point}`)
      const deaths = at.length > 0 ? ` (one by one ${at.join(', ')})` : ''
      console.log(`${name}: ${played} schedules, ${pool.killed} deaths${deaths} in ${seconds} s, seeds from ${FIRST}`)
      for (const place of places) await place.close()
      await pool.stop()
      await backend.close?.()
      rmSync(folder, { recursive: true })
    })

    /** Plays one after another in each lane; the first failure is thrown when all have stopped. */
    async function each<T>(jobs: Iterator<T>, play: (job: T, place: Place) => Promise<void>): Promise<void> {
      let hasFailed = false
      const results = await Promise.allSettled(
        places.map(async place => {
          for (let job = jobs.next(); !job.done && !hasFailed; job = jobs.next()) {
            await play(job.value, place).catch(error => {
              // The others need not go on.
              hasFailed = true
              throw error
            })
          }
        }),
      )
      for (const result of results) if (result.status === 'rejected') throw result.reason
    }

    async function run(
      id: string,
      seed: number,
      place: Place,
      { program = 'pond', play }: Pick<Kind, 'program' | 'play'>,
    ) {
      const calm = undisturbed.get(program) as Happened
      const stage = new Stage(place, pool, new Random(seed), { name: id, program }, calm.view)
      try {
        const happened = await perform(stage, play)
        const { judge = verdict } = PROGRAMS[program]
        const problems = [
          ...judge(happened, { undisturbed: calm }),
          ...stage.problems,
          ...epochProblems(stage),
          ...(await readerProblems(stage, happened)),
        ]
        expect(problems).toEqual([])
        played++
      } catch (error) {
        // Whatever state it has failed in; what fails here only follows from that.
        await stage.abandon().catch(() => {})
        const said = error instanceof Error ? error : new Error(String(error))
        said.message = `${id}: ${said.message}\n  ${stage.notes.join('\n  ')}`
        throw said
      }
    }

    const runSeed = (seed: number, place: Place) => {
      const kind = kindOf(seed)
      const again = `npm run chaos -- --runs 1 --seed ${seed} packages/runtime/src/process/${name}`
      return run(`seed-${seed}`, seed, place, {
        ...kind,
        play(stage) {
          stage.notes.push(kind.title, `to play it again: ${again}`)
          return kind.play(stage)
        },
      })
    }

    for (const [seed, found] of KEPT[name] ?? [])
      test(`seed ${seed}: ${found}`, () => runSeed(seed, places[0] as Place))

    for (const program of asked === undefined ? (['pond', 'mill'] as const) : []) {
      const every = Math.max(1, Math.round(backend.every[program] / RUNS))
      const which = every === 1 ? 'every one' : `one in ${every}`
      test(`kill -9 just before and after what changes the store, ${which}, of the ${program}`, {
        timeout: 300_000,
      }, async () => {
        let missed = 0
        function* moments(): Generator<Omit<Moment, 'of' | 'does'>> {
          // How many there are depends on which words go out together: on, until nobody comes to them.
          for (let at = (backend.from?.[program] ?? 0) % every; missed < lanes; at += every) {
            yield { n: 1 + (at >> 1), when: at % 2 === 0 ? 'before' : 'after' }
          }
        }
        await each(moments(), async (moment, place) => {
          await run(`point-${moment.n}-${moment.when}`, moment.n, place, {
            program,
            async play(stage) {
              if (program === 'mill') await stage.front(crowdAt(moment.n))
              const point = await backend.dieAt(stage, moment)
              if (point === undefined) missed++
              else died[point] = (died[point] ?? 0) + 1
            },
          })
        })
      })
    }

    for (const kind of kinds) {
      const own = seeds.filter(seed => kindOf(seed) === kind)
      if (own.length === 0) continue
      const timeout = 30_000 + own.length * SCHEDULE_MS
      test(`${kind.title}: ${own.length} schedules`, { timeout }, () => each(own.values(), runSeed))
    }
  })
}

const isFlow = (program: ProgramName): boolean => PROGRAMS[program].workflows !== undefined

/** Plays with nobody who dies. */
async function withAll(stage: Stage): Promise<void> {
  if (stage.program === 'mill') await stage.front()
  await stage.worker()
  await stage.over()
}

/** Plays a schedule to its end; what happened in it. */
async function perform(stage: Stage, play: (stage: Stage) => Promise<unknown>): Promise<Happened> {
  await stage.begin()
  await play(stage)
  await stage.leave()
  const { manager } = stage.place.runtime
  const { view, cursor } = await manager.view(SESSION)
  const entries = await manager.entries(SESSION, 0, cursor.sequence)
  const lines = readFileSync(stage.ledger, 'utf8').split('\n')
  rmSync(stage.ledger)
  const noted = lines.filter(line => line !== '').map(line => JSON.parse(line) as Line)
  const { given } = stage
  return { entries, view, lines: noted, ...(given && { given }) }
}

/** Law 2: that who was attached all the time got every entry once, and so does who comes back with a cursor. */
async function readerProblems({ place, seen, random }: Stage, { entries }: Happened): Promise<string[]> {
  const { manager } = place.runtime
  const last = random.pick(seen)
  const rest: number[] = []
  const options = { after: last.cursor, whole: true, internal: true }
  for await (const { sequence } of await manager.createResumableReader(SESSION, options)) rest.push(sequence)
  const all = entries.map(({ sequence }) => sequence)
  const attached = seen.map(({ sequence }) => sequence)
  return [
    ...(attached.join() === all.join() ? [] : [`a reader got ${attached.join()} of ${all.join()}`]),
    ...(rest.join() === all.slice(all.indexOf(last.sequence) + 1).join()
      ? []
      : [`who came back after ${last.sequence} got ${rest.join()}`]),
  ]
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
