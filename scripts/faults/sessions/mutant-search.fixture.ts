import { expect, vi } from 'vitest'
import type { Patience } from './schedule-scene.fixture.ts'
import { inLanes, type ScheduleReport } from './schedule-suite.fixture.ts'
import type { InProcessServer } from './session-server.fixture.ts'

/** A mistake that is planted into the code under test. The schedules have to find it. */
export interface Mutant {
  readonly name: string
  /** A seed that finds it, tried first. */
  readonly seed: number
  /** Whether it keeps a client from ever getting on, so that schedules with it are given up soon. */
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

/** How long a schedule may take, also on a busy machine: many mutants show only at its end. */
const GIVE_UP_MS = 60_000
/** The same for a mutant that stalls. Schedules without a mutant take a second or two. */
const STALLED_MS = 4_000

/** The known seed is played at most this often: what a schedule finds also depends on timing. */
const ATTEMPTS = 4
/** Then this many seeds are played, several at a time. */
const SEEDS = 400
const LANES = 8

/** Expects that schedules find the mutant. */
export async function expectFound(mutant: Mutant, { open, play }: Search): Promise<void> {
  mutant.plant()
  const server = await open()
  const problems = new Set<string>()
  const found = new AbortController()
  const giveUpMs = mutant.stalls ? STALLED_MS : GIVE_UP_MS
  let played = 0

  async function search(seed: number): Promise<void> {
    const report = await play(seed, server, `mutant${played++}`, { giveUpMs, signal: found.signal })
    // Those that were given up because another one found it say nothing.
    if (found.signal.aborted) return
    for (const problem of report.problems) problems.add(problem.slice(0, 200))
    if (report.problems.some(problem => mutant.found.test(problem))) found.abort()
  }

  try {
    for (let attempt = 0; attempt < ATTEMPTS && !found.signal.aborted; attempt++) await search(mutant.seed)
    let next = 1
    await inLanes(LANES, async () => {
      while (next <= SEEDS && !found.signal.aborted) await search(next++)
    })
    expect(found.signal.aborted, [...problems].join('\n')).toBe(true)
  } finally {
    vi.restoreAllMocks()
    await server.close()
  }
}

/** True once in `count` calls. */
export function onceIn(count: number): () => boolean {
  let calls = 0
  return () => ++calls % count === 0
}
