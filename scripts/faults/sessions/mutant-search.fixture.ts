import { expect, vi } from 'vitest'
import type { Patience } from './schedule-scene.fixture.ts'
import { inLanes, type ScheduleReport } from './schedule-suite.fixture.ts'
import type { InProcessServer } from './session-server.fixture.ts'

/** A bug that is planted into the code under test. The schedules must find it. */
export interface Mutant {
  readonly name: string
  /** A seed that finds it, tried first. */
  readonly seed: number
  /** Whether it blocks a client forever, so that its schedules use a short timeout. */
  readonly stalls?: boolean
  /** Matches a problem that is reported for it. */
  readonly found: RegExp
  /** Plants it, until all mocks are restored. */
  plant(): void
}

interface Search {
  open(): Promise<InProcessServer>
  play(seed: number, server: InProcessServer, name: string, patience: Patience): Promise<ScheduleReport>
}

/** Timeout of a schedule in ms, generous for a busy machine: many mutants show only at its end. */
const GIVE_UP_MS = 60_000
/** The least time for a mutant that stalls. Schedules without a mutant take a second or two. */
const STALLED_MS = 4_000

/** Maximum plays of the known seed. The result of a schedule also depends on timing. */
const ATTEMPTS = 4
/** Then this many seeds are played, several at a time. */
const SEEDS = 400
const LANES = 8

/** A schedule that found the mutant. */
interface Finding {
  readonly seed: number
  /** How many schedules were playing at a time. */
  readonly lanes: number
  /** Whether the schedule timed out, which a slow machine can also cause. */
  readonly wasGivenUp: boolean
}

const wasGivenUp = ({ problems }: ScheduleReport) => problems.some(problem => problem.startsWith('gave up'))

/** Expects that schedules find the mutant. A timeout counts only if the schedule passes in the same time without the mutant. */
export async function expectFound(mutant: Mutant, search: Search): Promise<void> {
  for (let giveUpMs = await patienceFor(mutant, search); ; giveUpMs = Math.min(2 * giveUpMs, GIVE_UP_MS)) {
    const finding = await find(mutant, search, giveUpMs)
    if (!finding.wasGivenUp) return
    const problems = await playWithout(finding, search, giveUpMs)
    if (problems.length === 0) return
    if (giveUpMs >= GIVE_UP_MS) expect(problems, `seed ${finding.seed} fails without the mutant, too`).toEqual([])
  }
}

/** First timeout of schedules with the mutant. If it stalls: twice the current duration of its schedule on this machine. */
async function patienceFor({ seed, stalls }: Mutant, search: Search): Promise<number> {
  if (!stalls) return GIVE_UP_MS
  const from = performance.now()
  await playWithout({ seed, lanes: 1 }, search, GIVE_UP_MS)
  return Math.min(GIVE_UP_MS, Math.max(STALLED_MS, 2 * (performance.now() - from)))
}

/** Plants the mutant and plays schedules until one finds it. */
async function find(mutant: Mutant, { open, play }: Search, giveUpMs: number): Promise<Finding> {
  mutant.plant()
  const server = await open()
  const problems = new Set<string>()
  const over = new AbortController()
  let finding: Finding | undefined
  let played = 0

  async function search(seed: number, lanes: number): Promise<void> {
    const report = await play(seed, server, `mutant${played++}`, { giveUpMs, signal: over.signal })
    // Ignores schedules that were aborted because another one found the mutant.
    if (finding !== undefined) return
    for (const problem of report.problems) problems.add(problem.slice(0, 200))
    if (!report.problems.some(problem => mutant.found.test(problem))) return
    finding = { seed, lanes, wasGivenUp: wasGivenUp(report) }
    over.abort()
  }

  try {
    for (let attempt = 0; attempt < ATTEMPTS && finding === undefined; attempt++) await search(mutant.seed, 1)
    let next = 1
    await inLanes(LANES, async () => {
      while (next <= SEEDS && finding === undefined) await search(next++, LANES)
    })
  } finally {
    vi.restoreAllMocks()
    await server.close()
  }
  return finding ?? expect.unreachable(`no schedule found it, only:\n${[...problems].join('\n')}`)
}

/** Plays the schedule that found a mutant without it, with the same concurrency. Returns the problems. */
async function playWithout(
  { seed, lanes }: Pick<Finding, 'seed' | 'lanes'>,
  { open, play }: Search,
  giveUpMs: number,
): Promise<readonly string[]> {
  const server = await open()
  const problems: string[] = []
  let played = 0
  try {
    await inLanes(lanes, async () => {
      const report = await play(seed, server, `whole${played++}`, { giveUpMs })
      problems.push(...report.problems)
    })
  } finally {
    await server.close()
  }
  return problems
}

/** True once in `count` calls. */
export function onceIn(count: number): () => boolean {
  let calls = 0
  return () => ++calls % count === 0
}
