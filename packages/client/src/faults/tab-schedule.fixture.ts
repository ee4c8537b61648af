import { Random } from '../../../../scripts/faults/random.ts'
import {
  MAX_OBSERVATIONS_BEFORE_EVENT,
  MAX_OUTAGE_MS,
  type ScheduleLimits,
} from '../../../../scripts/faults/sessions/schedule-scene.fixture.ts'
import type { ScheduleReport } from '../../../../scripts/faults/sessions/schedule-suite.fixture.ts'
import type { InProcessServer } from '../../../../scripts/faults/sessions/session-server.fixture.ts'
import { TabScene } from './tab-scene.fixture.ts'
import { TabScript } from './tab-script.fixture.ts'
import { verdict } from './tab-verdict.fixture.ts'

/** Possible faults. Repeated entries are drawn more often. */
const FAULTS = [
  'cut-at',
  'cut-at',
  'cut-at',
  'cut',
  'reset',
  'reset-at',
  'stall',
  'silence',
  'half-close',
  'refuse',
  'server',
  'away',
] as const

/** Upper bound of the position at which a connection is cut or reset, in bytes. */
const MAX_CUT_BYTES = 8_000

export interface TabReport extends ScheduleReport {
  /** Number of connections through the proxies. */
  readonly connections: number
  readonly tampered: number
  readonly tabs: number
}

/** Plays the schedule of a seed: what users do, in which tabs, and which faults happen when. */
export async function playTabSchedule(
  seed: number,
  server: InProcessServer,
  name: string,
  limits?: ScheduleLimits,
): Promise<TabReport> {
  const random = new Random(seed)
  const count = random.pick([1, 1, 1, 1, 2, 3])
  const sessionIds = Array.from({ length: count }, (_, n) => `s${seed}-${n}-${name}`)
  const scene = new TabScene(server, random, sessionIds, limits)
  const scripts: TabScript[] = []
  const problems: string[] = []
  try {
    await scene.join()
    for (const sessionId of sessionIds) scripts.push(new TabScript(scene, sessionId))
    await scene.play(scripts, isOver => [
      ...Array.from({ length: random.between(1, 5) }, () => fault(scene, isOver)),
      ...Array.from({ length: random.below(3) }, () => join(scene, isOver)),
      ...(random.below(3) === 0 ? [read(scene, isOver)] : []),
    ])
    scene.stopFaults()
    const heads = new Map<string, number>()
    for (const sessionId of sessionIds) heads.set(sessionId, (await server.manager.getInfo(sessionId))?.head ?? 0)
    await scene.until('all tabs have caught up', () => isCaughtUp(scene, heads))
  } catch (error) {
    problems.push(error instanceof Error ? error.message : String(error), ...stateOf(scene))
  }
  problems.push(...(await verdict(scene, scripts)))
  for (const script of scripts) problems.push(...script.problems)
  const { tabs, notes } = scene
  await scene.leave()
  const connections = tabs.reduce((sum, { gate }) => sum + gate.counts().connections, 0)
  const tampered = tabs.reduce((sum, tab) => sum + tab.tampered, 0)
  return { problems, notes, faults: scene.faults, connections, tampered, tabs: tabs.length }
}

function isCaughtUp({ tabs, readers }: TabScene, heads: ReadonlyMap<string, number>): boolean {
  return [...heads].every(
    ([sessionId, head]) =>
      readers.every(reader => reader.has(sessionId, head)) &&
      tabs.every(tab => {
        const { store, state } = tab.chat(sessionId)
        const isShown = JSON.stringify(store.messages) === JSON.stringify(store.view().messages)
        return store.head >= head && state.connection.status === 'live' && isShown && state.runId === undefined
      }),
  )
}

/** The state of all tabs, for the report of a schedule that was given up. */
function stateOf({ tabs, sessionIds }: TabScene): string[] {
  return tabs.flatMap(({ name, sessions, gate }) =>
    sessionIds.map(sessionId => {
      const { state, store } = sessions.get(sessionId)?.chat ?? {}
      const { status, runId, connection, error } = state ?? {}
      return `${name}, ${sessionId}: ${JSON.stringify({ head: store?.head, status, runId, connection, error, ...gate.counts() })}`
    }),
  )
}

/** Opens a tab at a random moment, or when the scripts have ended. */
async function join(scene: TabScene, isOver: () => boolean): Promise<void> {
  const { random } = scene
  await scene.moment(
    random.pick([
      random.below(MAX_OBSERVATIONS_BEFORE_EVENT),
      random.below(4 * MAX_OBSERVATIONS_BEFORE_EVENT),
      Infinity,
    ]),
    isOver,
  )
  await scene.join()
}

/** Starts a reader by the plain loop, once there is something to read. */
async function read(scene: TabScene, isOver: () => boolean): Promise<void> {
  const { first, sessionIds } = scene
  await scene.until(
    'there is something to read',
    () => isOver() || sessionIds.every(id => first.chat(id).store.head > 0),
  )
  scene.read()
}

/** Injects one fault at a random moment. */
async function fault(scene: TabScene, isOver: () => boolean): Promise<void> {
  const { random, server } = scene
  const [after, kind] = [random.below(MAX_OBSERVATIONS_BEFORE_EVENT), random.pick(FAULTS)]
  await scene.moment(after, isOver)
  if (isOver()) return
  const tab = random.pick(scene.tabs)
  const { gate } = tab
  scene.faults++
  scene.notes.push(`${kind} of ${tab.name} after ${scene.observed} changes`)
  switch (kind) {
    case 'cut-at':
      for (const link of gate.links) link.set({ down: { cutAt: random.below(MAX_CUT_BYTES) } })
      break
    case 'reset-at':
      for (const link of gate.links) link.set({ down: { resetAt: random.below(MAX_CUT_BYTES) } })
      break
    case 'silence': {
      // The connection is open and sends nothing. The tab has to notice by the missing heartbeats, and connect again.
      await scene.until('the tab is live', () => isOver() || tab.isLive)
      if (isOver()) return
      const links = [...gate.links]
      const reconnected = gate.event('connect')
      for (const link of links) link.stall('down')
      await Promise.race([reconnected, scene.until('the tab connects again', isOver)])
      for (const link of links) link.cut()
      break
    }
    case 'server':
      await server.killServer(scene.pause(MAX_OUTAGE_MS))
      break
    case 'away':
      await tab.awayWhile(scene.pause(MAX_OUTAGE_MS))
      break
    default:
      await scene.breakConnections(gate, kind)
  }
}
