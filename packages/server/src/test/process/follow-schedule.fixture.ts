import { Random } from '../../../../../scripts/faults/random.ts'
import {
  MAX_OBSERVATIONS_BEFORE_EVENT,
  type ScheduleLimits,
} from '../../../../../scripts/faults/sessions/schedule-harness.fixture.ts'
import type { ScheduleReport } from '../../../../../scripts/faults/sessions/schedule-suite.fixture.ts'
import type { SessionServer } from '../../../../../scripts/faults/sessions/session-server.fixture.ts'
import { FollowHarness } from './follow-harness.fixture.ts'
import { FollowScript } from './follow-script.fixture.ts'
import { readStoredLog, type StoredLog, verdict } from './follow-verdict.fixture.ts'

/** Possible faults. Repeated entries are drawn more often. */
const FAULTS = ['cut', 'cut', 'cut', 'reset', 'stall', 'half-close', 'refuse', 'server', 'worker'] as const

export interface FollowReport extends ScheduleReport {
  /** Number of lost connections. */
  readonly drops: number
}

/** Plays the schedule of a seed: the actions of users, the clients that follow their sessions, and the faults. */
export async function playFollowSchedule(
  seed: number,
  server: SessionServer,
  name: string,
  limits?: ScheduleLimits,
): Promise<FollowReport> {
  const random = new Random(seed)
  const sessionIds = Array.from({ length: random.pick([1, 1, 1, 2]) }, (_, n) => `s${seed}-${n}-${name}`)
  const harness = new FollowHarness(server, random, sessionIds, limits)
  const scripts: FollowScript[] = []
  const problems: string[] = []
  const readLogs = () => Promise.all(sessionIds.map(sessionId => readStoredLog(harness, sessionId)))
  try {
    await harness.join()
    for (const replica of harness.first.replicas) scripts.push(new FollowScript(harness, replica))
    await harness.play(scripts, isOver => [
      ...Array.from({ length: random.between(1, 4) }, () => fault(harness, isOver)),
      join(
        harness,
        random.pick([
          random.below(MAX_OBSERVATIONS_BEFORE_EVENT),
          random.below(4 * MAX_OBSERVATIONS_BEFORE_EVENT),
          Infinity,
        ]),
        isOver,
      ),
    ])
    harness.stopFaults()
    const logs = await readLogs()
    await harness.runsFollowed()
    await allCaughtUp(harness, logs)
    await harness.leave()
    problems.push(...verdict(harness, logs))
    if (harness.followers.length !== 2) problems.push(`expected 2 followers, found ${harness.followers.length}`)
  } catch (error) {
    // The frames received until then may explain the failure.
    await harness.leave().catch(() => {})
    problems.push(error instanceof Error ? error.message : String(error), ...verdict(harness, await readLogs()))
  }
  for (const script of scripts) problems.push(...script.problems)
  const { notes, drops, faults } = harness
  return { problems, notes, drops, faults }
}

async function allCaughtUp(harness: FollowHarness, logs: readonly StoredLog[]): Promise<void> {
  for (const { name, replicas } of harness.followers) {
    await harness.until(`${name} has caught up`, () =>
      replicas.every(({ position, isLost, incarnation }, n) => {
        const log = logs[n]
        return !isLost && position >= (log?.head ?? 0) && incarnation === log?.incarnation
      }),
    )
  }
}

/** Adds a follower after `after` entries, or when the scripts have ended. */
async function join(harness: FollowHarness, after: number, isOver: () => boolean): Promise<void> {
  await harness.waitForObservations(after, isOver)
  await harness.join()
}

const never = () => false

/** Injects one fault at a random moment. */
async function fault(harness: FollowHarness, isOver: () => boolean): Promise<void> {
  const { random, server } = harness
  const [after, kind, worker] = [random.below(MAX_OBSERVATIONS_BEFORE_EVENT), random.pick(FAULTS), random.below(2)]
  await harness.waitForObservations(after, isOver)
  if (isOver()) return
  harness.faults++
  harness.notes.push(`${kind} after ${harness.observed} entries`)
  const { proxy } = harness.anyConnection()
  // A schedule that ends early does not wait for the next process.
  if (kind === 'server') await Promise.race([server.killServer(), harness.until('the next server listens', never)])
  else if (kind === 'worker')
    await Promise.race([server.killWorker(worker), harness.until('the next worker is ready', never)])
  else await harness.breakConnections(proxy, kind)
}
