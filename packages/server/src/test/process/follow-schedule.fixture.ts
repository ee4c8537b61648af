import { Random } from '../../../../../scripts/faults/random.ts'
import {
  MAX_OBSERVATIONS_BEFORE_EVENT,
  type ScheduleLimits,
} from '../../../../../scripts/faults/sessions/schedule-scene.fixture.ts'
import type { ScheduleReport } from '../../../../../scripts/faults/sessions/schedule-suite.fixture.ts'
import type { SessionServer } from '../../../../../scripts/faults/sessions/session-server.fixture.ts'
import { FollowScene } from './follow-scene.fixture.ts'
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
  const scene = new FollowScene(server, random, sessionIds, limits)
  const scripts: FollowScript[] = []
  const problems: string[] = []
  const readLogs = () => Promise.all(sessionIds.map(sessionId => readStoredLog(scene, sessionId)))
  try {
    await scene.join()
    for (const replica of scene.first.replicas) scripts.push(new FollowScript(scene, replica))
    await scene.play(scripts, isOver => [
      ...Array.from({ length: random.between(1, 4) }, () => fault(scene, isOver)),
      join(
        scene,
        random.pick([
          random.below(MAX_OBSERVATIONS_BEFORE_EVENT),
          random.below(4 * MAX_OBSERVATIONS_BEFORE_EVENT),
          Infinity,
        ]),
        isOver,
      ),
    ])
    scene.stopFaults()
    const logs = await readLogs()
    await scene.runsFollowed()
    await allCaughtUp(scene, logs)
    await scene.leave()
    problems.push(...verdict(scene, logs))
    if (scene.followers.length !== 2) problems.push(`expected 2 followers, found ${scene.followers.length}`)
  } catch (error) {
    // The frames received until then may explain the failure.
    await scene.leave().catch(() => {})
    problems.push(error instanceof Error ? error.message : String(error), ...verdict(scene, await readLogs()))
  }
  for (const script of scripts) problems.push(...script.problems)
  const { notes, drops, faults } = scene
  return { problems, notes, drops, faults }
}

async function allCaughtUp(scene: FollowScene, logs: readonly StoredLog[]): Promise<void> {
  for (const { name, replicas } of scene.followers) {
    await scene.until(`${name} has caught up`, () =>
      replicas.every(({ position, isLost, incarnation }, n) => {
        const log = logs[n]
        return !isLost && position >= (log?.head ?? 0) && incarnation === log?.incarnation
      }),
    )
  }
}

/** Adds a follower after `after` entries, or when the scripts have ended. */
async function join(scene: FollowScene, after: number, isOver: () => boolean): Promise<void> {
  await scene.moment(after, isOver)
  await scene.join()
}

const never = () => false

/** Injects one fault at a random moment. */
async function fault(scene: FollowScene, isOver: () => boolean): Promise<void> {
  const { random, server } = scene
  const [after, kind, worker] = [random.below(MAX_OBSERVATIONS_BEFORE_EVENT), random.pick(FAULTS), random.below(2)]
  await scene.moment(after, isOver)
  if (isOver()) return
  scene.faults++
  scene.notes.push(`${kind} after ${scene.observed} entries`)
  const { proxy } = scene.anyConnection()
  // A schedule that ends early does not wait for the next process.
  if (kind === 'server') await Promise.race([server.killServer(), scene.until('the next server listens', never)])
  else if (kind === 'worker')
    await Promise.race([server.killWorker(worker), scene.until('the next worker works', never)])
  else await scene.breakConnections(proxy, kind)
}
