import { expect, vi } from 'vitest'
import type { ScheduleLimits } from './schedule-harness.fixture.ts'
import { runConcurrently, type ScheduleReport } from './schedule-suite.fixture.ts'
import type { InProcessServer } from './session-server.fixture.ts'

/** A bug that is planted into the code under test. The schedules must find it. */
export interface Mutant {
  readonly name: string
  /** A seed that finds it, tried first. */
  readonly seed: number
  /** Whether it blocks a client forever. Then its schedules use a short timeout. */
  readonly blocksClient?: boolean
  /** Matches a problem that is reported for it. */
  readonly found: RegExp
  /** Plants it. `vi.restoreAllMocks` removes it. */
  plant(): void
}

interface Search {
  open(): Promise<InProcessServer>
  play(seed: number, server: InProcessServer, name: string, limits: ScheduleLimits): Promise<ScheduleReport>
}

/** Maximum timeout of a schedule in ms, generous for a busy machine: many mutants show only at its end. */
const MAX_TIMEOUT_MS = 60_000
/** Minimum timeout for a mutant that blocks a client, in ms. Schedules without a mutant take a second or two. */
const MIN_TIMEOUT_MS = 4_000

/** Maximum number of times that the mutant's own seed is played. The result of a schedule also depends on timing. */
const MAX_ATTEMPTS = 4
/** Number of other seeds to play after that, and how many of them at a time. */
const OTHER_SEEDS = 400
const CONCURRENCY = 8

/** A schedule that found the mutant. */
interface Finding {
  readonly seed: number
  /** Number of schedules that played at the same time. */
  readonly concurrency: number
  /** Whether the schedule timed out, which a slow machine can also cause. */
  readonly isTimeout: boolean
}

const hasTimedOut = ({ problems }: ScheduleReport) => problems.some(problem => problem.startsWith('timed out'))

/** Expects that schedules find the mutant. A timeout counts only if the schedule passes in the same time without the mutant. */
export async function expectMutantFound(mutant: Mutant, search: Search): Promise<void> {
  for (let timeoutMs = await firstTimeoutMs(mutant, search); ; timeoutMs = Math.min(2 * timeoutMs, MAX_TIMEOUT_MS)) {
    const finding = await find(mutant, search, timeoutMs)
    if (!finding.isTimeout) return
    const problems = await playWithout(finding, search, timeoutMs)
    if (problems.length === 0) return
    if (timeoutMs >= MAX_TIMEOUT_MS) expect(problems, `seed ${finding.seed} fails without the mutant, too`).toEqual([])
  }
}

/** First timeout of schedules with the mutant. If it blocks a client: twice the current duration of its schedule on this machine. */
async function firstTimeoutMs({ seed, blocksClient }: Mutant, search: Search): Promise<number> {
  if (!blocksClient) return MAX_TIMEOUT_MS
  const from = performance.now()
  await playWithout({ seed, concurrency: 1 }, search, MAX_TIMEOUT_MS)
  return Math.min(MAX_TIMEOUT_MS, Math.max(MIN_TIMEOUT_MS, 2 * (performance.now() - from)))
}

/** Plants the mutant and plays schedules until one finds it. */
async function find(mutant: Mutant, { open, play }: Search, timeoutMs: number): Promise<Finding> {
  mutant.plant()
  const server = await open()
  const problems = new Set<string>()
  const found = new AbortController()
  let finding: Finding | undefined
  let played = 0

  async function search(seed: number, concurrency: number): Promise<void> {
    const report = await play(seed, server, `mutant${played++}`, { timeoutMs, signal: found.signal })
    // Ignores schedules that were aborted because another one found the mutant.
    if (finding !== undefined) return
    for (const problem of report.problems) problems.add(problem.slice(0, 200))
    if (!report.problems.some(problem => mutant.found.test(problem))) return
    finding = { seed, concurrency, isTimeout: hasTimedOut(report) }
    found.abort()
  }

  try {
    for (let attempt = 0; attempt < MAX_ATTEMPTS && finding === undefined; attempt++) await search(mutant.seed, 1)
    let next = 1
    await runConcurrently(CONCURRENCY, async () => {
      while (next <= OTHER_SEEDS && finding === undefined) await search(next++, CONCURRENCY)
    })
  } finally {
    vi.restoreAllMocks()
    await server.close()
  }
  return (
    finding ??
    expect.unreachable(
      `expected a schedule to find the mutant ${mutant.name}, found only:\n${[...problems].join('\n')}`,
    )
  )
}

/** Plays the schedule that found a mutant again, without the mutant and with the same concurrency. Returns the problems. */
async function playWithout(
  { seed, concurrency }: Pick<Finding, 'seed' | 'concurrency'>,
  { open, play }: Search,
  timeoutMs: number,
): Promise<readonly string[]> {
  const server = await open()
  const problems: string[] = []
  let played = 0
  try {
    await runConcurrently(concurrency, async () => {
      const report = await play(seed, server, `unchanged${played++}`, { timeoutMs })
      problems.push(...report.problems)
    })
  } finally {
    await server.close()
  }
  return problems
}

/** Returns a function that returns true in every `count`th call. */
export function everyNth(count: number): () => boolean {
  let calls = 0
  return () => ++calls % count === 0
}
