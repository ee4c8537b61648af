import { expect, test } from 'vitest'
import { firstSeed, isCampaign, reportFailed, reportPlayed, scheduleCount } from '../campaign.ts'

/** Result of one schedule. */
export interface ScheduleReport {
  /** Empty when the schedule passed. */
  readonly problems: readonly string[]
  readonly notes: readonly string[]
  readonly faults: number
}

export interface ScheduleSuite<Server, Report extends ScheduleReport> {
  /** Title of the test. */
  readonly law: string
  /** The test file without its ending, relative to the root. */
  readonly file: string
  /** How many schedules `npm test` plays. */
  readonly count: number
  /** The seed of the first one. @default 1 */
  readonly first?: number
  /** How many schedules play at a time on one server. */
  readonly concurrency: number
  /** Seeds that once found a bug, with its description. `npm test` always plays them. */
  readonly failedSeeds?: ReadonlyMap<number, string>
  open(): Promise<Server>
  close(server: Server): Promise<void>
  /** Plays a schedule. Its sessions are named after the seed and `name`, which is unique. */
  play(seed: number, server: Server, name: string): Promise<Report>
  /** How many servers and workers were killed. */
  killed(server: Server): number
  /** Errors of the server processes. */
  serverErrors?(server: Server): readonly string[]
  /** Summary of the played schedules, for the output. */
  summary(reports: readonly Report[], server: Server): string
}

/** Maximum average time of a schedule, in ms. */
const SCHEDULE_MS = 5_000
const MIN_TIMEOUT_MS = 180_000
/** No further schedules are run after this many failures. */
const MAX_FAILURES = 5

/** Declares a test that plays schedules by seed, several at a time on one server. */
export function scheduleSuite<Server, Report extends ScheduleReport>(suite: ScheduleSuite<Server, Report>): void {
  const { law, file, concurrency, failedSeeds = new Map<number, string>() } = suite
  const total = scheduleCount(suite.count)
  const first = firstSeed(suite.first)

  const seeds = Array.from({ length: total }, (_, n) => first + n)
  const timeout = Math.max(MIN_TIMEOUT_MS, total * SCHEDULE_MS)

  test(`${law} (${total} seeds from ${first})`, { timeout }, async () => {
    const server = await suite.open()
    const startedAt = performance.now()
    const reports: Report[] = []
    const failures: string[] = []
    let names = 0
    let deaths = 0

    async function play(seed: number): Promise<void> {
      const report = await suite.play(seed, server, `${names++}`)
      reports.push(report)
      const { problems, notes, faults } = report
      const killed = suite.killed(server)
      reportPlayed({ faults, deaths: killed - deaths })
      deaths = killed
      if (problems.length === 0) return
      const replayCommand = `npm run chaos -- --runs 1 --seed ${seed} ${file}`
      reportFailed({ seed, again: replayCommand })
      const bug = failedSeeds.get(seed)
      const history = bug === undefined ? '' : ` (it once found: ${bug})`
      const title = `seed ${seed} failed${history}; to play it again: ${replayCommand}`
      const failure = [title, ...problems, ...notes].join('\n  ')
      failures.push(failure)
      // Printed at once, because thousands of schedules may follow.
      console.log(failure)
    }

    try {
      // A campaign plays only its own seeds.
      const queue = isCampaign() ? seeds : [...new Set([...failedSeeds.keys(), ...seeds])]
      await runConcurrently(concurrency, async () => {
        for (let seed = queue.shift(); seed !== undefined; seed = queue.shift()) {
          if (failures.length < MAX_FAILURES) await play(seed)
        }
      })
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
      console.log(`${file}: ${suite.summary(reports, server)}, in ${seconds} s, seeds from ${first}`)
      expect(failures, failures.join('\n')).toEqual([])
      expect(suite.serverErrors?.(server) ?? []).toEqual([])
    } finally {
      await suite.close(server)
    }
  })
}

/** Runs `work` several times at once. */
export async function runConcurrently(concurrency: number, work: () => Promise<void>): Promise<void> {
  await Promise.all(Array.from({ length: concurrency }, work))
}
