// Declares the tests of a store with real processes. A seed decides what happens to which process and when.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { decodeCursor, isGuest } from '@millrace/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  firstSeed,
  isCampaign,
  multiplied,
  reportFailed,
  reportPlayed,
  scheduleCount,
} from '../../../../../scripts/faults/campaign.ts'
import { Random } from '../../../../../scripts/faults/random.ts'
import type { Line } from '../crash/ledger.fixture.ts'
import { type RunRecord, verdict } from '../crash/run-verdict.fixture.ts'
import { SESSION } from '../crash/tools-program.fixture.ts'
import { answeringAt } from './approval-schedules.fixture.ts'
import { diesAt } from './death-schedules.fixture.ts'
import { FAILED_SEEDS } from './process-failed-seeds.fixture.ts'
import { HarnessStore, ProcessHarness } from './process-harness.fixture.ts'
import type { FaultPoint, Point, StoreSpec } from './process-messages.fixture.ts'
import { ProcessPool } from './process-pool.fixture.ts'
import { PROGRAMS, type ProgramName } from './programs.fixture.ts'
import { roundsWithoutFaults } from './workflow-schedules.fixture.ts'

/** One kind of schedule. */
export interface ScheduleKind {
  readonly title: string
  /** How many of the seeds are of this kind, relative to the others. */
  readonly share: number
  /** @default 'tools', which needs no answers */
  readonly program?: ProgramName
  play(harness: ProcessHarness): Promise<unknown>
}

export interface Backend {
  readonly name: StoreSpec['kind']
  /** How many schedules `npm test` plays. The first seeds are of one kind each, in the order of `kinds`. */
  readonly count: number
  readonly kinds: readonly ScheduleKind[]
  /** Besides the seeds: kills a process at every nth point of each program. */
  readonly every: Readonly<Record<'tools' | 'approvals', number>>
  /** The first of these points. Differs by store, so that together they cover more. @default 0 */
  readonly from?: Readonly<Record<'tools' | 'approvals', number>>
  /** Starts the server of the store. `specOf` returns a store of its own for each index. */
  start(folder: string): Promise<{ specOf(index: number): StoreSpec; stop(): Promise<void> }>
}

/** How many schedules run at once, each on its own log. */
const CONCURRENCY = 3
const FIRST = firstSeed()

/** Declares the tests of a backend. They run concurrently, since their schedules share the stores and the processes. */
export function schedules(backend: Backend): void {
  const { name, kinds } = backend
  const slots = slotsOf(kinds)
  const kindOf = (seed: number) => slots[(seed - 1) % slots.length] as ScheduleKind
  const seeds = Array.from({ length: scheduleCount(backend.count) }, (_, i) => FIRST + i)

  describe(`${name}, with real processes`, () => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-process-'))
    const references = new Map<ProgramName, Promise<RunRecord>>()
    /** Number of kills at each point, of the tests that try the points one by one. */
    const died: Record<string, number> = {}
    let pool: ProcessPool
    let storePool: StorePool
    let stopStore: () => Promise<void>
    let startedAt = 0
    let played = 0
    beforeAll(async () => {
      const { specOf, stop } = await backend.start(folder)
      stopStore = stop
      pool = new ProcessPool(name, CONCURRENCY + 1)
      storePool = new StorePool(
        await Promise.all(Array.from({ length: CONCURRENCY }, (_, index) => HarnessStore.open(specOf(index), folder))),
      )
      startedAt = performance.now()
    })
    afterAll(async () => {
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
      const at = Object.entries(died).map(([point, n]) => `${n} ${point}`)
      const deaths = at.length > 0 ? ` (one by one ${at.join(', ')})` : ''
      console.log(`${name}: ${played} schedules, ${pool.killed} deaths${deaths} in ${seconds} s, seeds from ${FIRST}`)
      await storePool.close()
      await pool.stop()
      await stopStore()
      rmSync(folder, { recursive: true })
    })

    /** A program without faults, which all its schedules are compared with. Played once. */
    function undisturbed(program: ProgramName, harnessStore: HarnessStore): Promise<RunRecord> {
      const reference = references.get(program) ?? playUndisturbed(program, harnessStore)
      references.set(program, reference)
      return reference
    }

    async function playUndisturbed(program: ProgramName, harnessStore: HarnessStore): Promise<RunRecord> {
      const undisturbedHarness = new ProcessHarness(harnessStore, pool, new Random(0), {
        name: `undisturbed-${program}`,
        program,
      })
      const { judge = verdict } = PROGRAMS[program]
      const record = await playSchedule(
        undisturbedHarness,
        isWorkflow(program) ? roundsWithoutFaults : playWithoutFaults,
      )
      expect(judge(record)).toEqual([])
      expect(record.view.runs.map(({ status }) => status)).not.toContain('failed')
      return record
    }

    /** Plays one schedule on a store that is free. */
    const run = (id: string, seed: number, { program = 'tools', play }: Pick<ScheduleKind, 'program' | 'play'>) =>
      storePool.use(async harnessStore => {
        const reference = await undisturbed(program, harnessStore)
        const harness = new ProcessHarness(harnessStore, pool, new Random(seed), { name: id, program }, reference.view)
        try {
          const record = await playSchedule(harness, play)
          const { judge = verdict } = PROGRAMS[program]
          const problems = [
            ...judge(record, { undisturbed: reference }),
            ...harness.problems,
            ...epochProblems(harness),
            ...(await readerProblems(harness, record)),
          ]
          expect(problems).toEqual([])
          played++
          reportPlayed({ faults: harness.faults, deaths: harness.deaths })
        } catch (error) {
          // A second failure here only follows from the first.
          await harness.abandon().catch(() => {})
          const cause = error instanceof Error ? error : new Error(String(error))
          cause.message = `${id}: ${cause.message}\n  ${harness.trace.join('\n  ')}`
          throw cause
        }
      })

    const runSeed = async (seed: number) => {
      const kind = kindOf(seed)
      const replayCommand = `npm run chaos -- --runs 1 --seed ${seed} packages/runtime/src/test/process/${name}`
      const play = (harness: ProcessHarness) => {
        harness.trace.push(kind.title, `to play it again: ${replayCommand}`)
        return kind.play(harness)
      }
      await run(`seed-${seed}`, seed, { ...kind, play }).catch(error => {
        reportFailed({ seed, again: replayCommand })
        throw error
      })
    }

    const failedSeeds = isCampaign() ? [] : (FAILED_SEEDS[name] ?? [])
    for (const [seed, bug] of failedSeeds) test.concurrent(`seed ${seed}: ${bug}`, () => runSeed(seed))

    for (const program of isCampaign() ? [] : (['tools', 'approvals'] as const)) {
      const every = Math.max(1, Math.round(backend.every[program] / multiplied(1)))
      const sample = every === 1 ? 'every one' : `one in ${every}`
      test.concurrent(`continues the program ${program} after kill -9 just before and after a call that changes the store, ${sample}`, async () => {
        let missed = 0
        function* faultPoints(): Generator<Omit<FaultPoint, 'points' | 'action'>> {
          // How many points a run has depends on which draft chunks are batched. All of them are played until a run ends before its point.
          const maxPoint = every === 1 ? Infinity : 2 * PROGRAMS[program].typical.points
          for (let at = (backend.from?.[program] ?? 0) % every; missed === 0 && at < maxPoint; at += every) {
            yield { n: 1 + (at >> 1), when: at % 2 === 0 ? 'before' : 'after' }
          }
        }
        await playConcurrently(faultPoints(), faultPoint =>
          run(`point-${program}-${faultPoint.n}-${faultPoint.when}`, faultPoint.n, {
            program,
            async play(harness) {
              if (program === 'approvals') await harness.startAnswering(answeringAt(faultPoint.n))
              const point: Point | undefined = await diesAt(harness, faultPoint)
              if (point === undefined) missed++
              else died[point] = (died[point] ?? 0) + 1
            },
          }),
        )
      })
    }

    for (const kind of kinds) {
      const seedsOfKind = seeds.filter(seed => kindOf(seed) === kind)
      if (seedsOfKind.length > 0)
        test.concurrent(`${kind.title}: ${seedsOfKind.length} schedules`, () =>
          playConcurrently(seedsOfKind.values(), runSeed))
    }
  })
}

/** The kinds by their shares: one of each first, then those with a larger share again. */
function slotsOf(kinds: readonly ScheduleKind[]): readonly ScheduleKind[] {
  const rounds = Math.max(...kinds.map(({ share }) => share))
  return Array.from({ length: rounds }, (_, round) => kinds.filter(({ share }) => share > round)).flat()
}

/** Plays at most `CONCURRENCY` jobs at the same time. Starts no job after a failure, and throws the failure when all have stopped. */
async function playConcurrently<Job>(jobs: Iterator<Job>, play: (job: Job) => Promise<void>): Promise<void> {
  let hasFailed = false
  const results = await Promise.allSettled(
    Array.from({ length: CONCURRENCY }, async () => {
      for (let job = jobs.next(); !job.done && !hasFailed; job = jobs.next()) {
        await play(job.value).catch(error => {
          hasFailed = true
          throw error
        })
      }
    }),
  )
  for (const result of results) if (result.status === 'rejected') throw result.reason
}

/** Stores, each used by one schedule at a time. */
class StorePool {
  readonly #stores: readonly HarnessStore[]
  readonly #free: HarnessStore[]
  readonly #waiting: ((harnessStore: HarnessStore) => void)[] = []

  constructor(stores: readonly HarnessStore[]) {
    this.#stores = stores
    this.#free = [...stores]
  }

  async use(play: (harnessStore: HarnessStore) => Promise<void>): Promise<void> {
    const harnessStore = this.#free.pop() ?? (await new Promise<HarnessStore>(resolve => this.#waiting.push(resolve)))
    try {
      await play(harnessStore)
    } finally {
      const next = this.#waiting.shift()
      if (next) next(harnessStore)
      else this.#free.push(harnessStore)
    }
  }

  async close(): Promise<void> {
    for (const harnessStore of this.#stores) await harnessStore.close()
  }
}

const isWorkflow = (program: ProgramName): boolean => PROGRAMS[program].workflows !== undefined

/** Plays without a death. */
async function playWithoutFaults(harness: ProcessHarness): Promise<void> {
  if (harness.program === 'approvals') await harness.startAnswering()
  await harness.startDriver()
  await harness.untilEnded()
}

/** Plays a schedule to its end; returns its record. */
async function playSchedule(
  harness: ProcessHarness,
  play: (harness: ProcessHarness) => Promise<unknown>,
): Promise<RunRecord> {
  await harness.begin()
  await play(harness)
  await harness.close()
  const { manager } = harness.harnessStore.runtime
  const { view, cursor } = await manager.view(SESSION)
  const entries = await manager.entries(SESSION, 0, cursor.sequence)
  const lines = readFileSync(harness.ledger, 'utf8').split('\n')
  rmSync(harness.ledger)
  const ledgerLines = lines.filter(line => line !== '').map(line => JSON.parse(line) as Line)
  const { submitted } = harness
  return { entries, view, lines: ledgerLines, ...(submitted && { submitted }) }
}

/** Law 2: a reader that was attached all the time got every entry once, and so does one that resumes from a cursor. */
async function readerProblems(
  { harnessStore, seen, random }: ProcessHarness,
  { entries }: RunRecord,
): Promise<string[]> {
  const { manager } = harnessStore.runtime
  const last = random.pick(seen)
  const rest: number[] = []
  const options = { after: last.cursor, includeDiscarded: true, internal: true }
  for await (const { sequence } of await manager.createResumableReader(SESSION, options)) rest.push(sequence)
  const all = entries.map(({ sequence }) => sequence)
  const attached = seen.map(({ sequence }) => sequence)
  return [
    ...(attached.join() === all.join() ? [] : [`a reader got ${attached.join()} of ${all.join()}`]),
    ...(rest.join() === all.slice(all.indexOf(last.sequence) + 1).join()
      ? []
      : [`a reader that resumed after ${last.sequence} got ${rest.join()}`]),
  ]
}

const FIRST_CHUNKS = new Set(['run-started', 'executor-superseded', 'run-resumed'])

/** Law 4: a driver appends nothing after another driver took over. */
function epochProblems({ seen }: ProcessHarness): string[] {
  const problems: string[] = []
  const superseded = new Set<string>()
  let current: string | undefined
  for (const { cursor, origin, chunk, sequence } of seen) {
    const { epoch } = decodeCursor(cursor) as { epoch: string }
    if (isGuest(origin) || epoch === current) continue
    if (superseded.has(epoch)) problems.push(`entry ${sequence}: ${epoch} was superseded before`)
    if (!FIRST_CHUNKS.has(chunk.type)) problems.push(`entry ${sequence}: ${epoch} starts with ${chunk.type}`)
    if (current !== undefined) superseded.add(current)
    current = epoch
  }
  return problems
}
