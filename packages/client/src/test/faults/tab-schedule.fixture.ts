import { Random } from '../../../../../scripts/faults/random.ts'
import {
  MAX_OBSERVATIONS_BEFORE_EVENT,
  MAX_OUTAGE_MS,
  type ScheduleLimits,
} from '../../../../../scripts/faults/sessions/schedule-harness.fixture.ts'
import type { ScheduleReport } from '../../../../../scripts/faults/sessions/schedule-suite.fixture.ts'
import type { InProcessServer } from '../../../../../scripts/faults/sessions/session-server.fixture.ts'
import { TabHarness } from './tab-harness.fixture.ts'
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
  const harness = new TabHarness(server, random, sessionIds, limits)
  const scripts: TabScript[] = []
  const problems: string[] = []
  try {
    await harness.join()
    for (const sessionId of sessionIds) scripts.push(new TabScript(harness, sessionId))
    await harness.play(scripts, isOver => [
      ...Array.from({ length: random.between(1, 5) }, () => fault(harness, isOver)),
      ...Array.from({ length: random.below(3) }, () => join(harness, isOver)),
      ...(random.below(3) === 0 ? [read(harness, isOver)] : []),
    ])
    harness.stopFaults()
    const heads = new Map<string, number>()
    for (const sessionId of sessionIds) heads.set(sessionId, (await server.manager.getInfo(sessionId))?.head ?? 0)
    await harness.until('all tabs have caught up', () => isCaughtUp(harness, heads))
  } catch (error) {
    problems.push(error instanceof Error ? error.message : String(error), ...stateOf(harness))
  }
  problems.push(...(await verdict(harness, scripts)))
  for (const script of scripts) problems.push(...script.problems)
  const { tabs, notes } = harness
  await harness.leave()
  const connections = tabs.reduce((sum, { gate }) => sum + gate.counts().connections, 0)
  const tampered = tabs.reduce((sum, tab) => sum + tab.tampered, 0)
  return { problems, notes, faults: harness.faults, connections, tampered, tabs: tabs.length }
}

function isCaughtUp({ tabs, readers }: TabHarness, heads: ReadonlyMap<string, number>): boolean {
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
function stateOf({ tabs, sessionIds }: TabHarness): string[] {
  return tabs.flatMap(({ name, sessions, gate }) =>
    sessionIds.map(sessionId => {
      const { state, store } = sessions.get(sessionId)?.chat ?? {}
      const { status, runId, connection, error } = state ?? {}
      return `${name}, ${sessionId}: ${JSON.stringify({ head: store?.head, status, runId, connection, error, ...gate.counts() })}`
    }),
  )
}

/** Opens a tab at a random moment, or when the scripts have ended. */
async function join(harness: TabHarness, isOver: () => boolean): Promise<void> {
  const { random } = harness
  await harness.waitForObservations(
    random.pick([
      random.below(MAX_OBSERVATIONS_BEFORE_EVENT),
      random.below(4 * MAX_OBSERVATIONS_BEFORE_EVENT),
      Infinity,
    ]),
    isOver,
  )
  await harness.join()
}

/** Starts a reader by the plain loop, once there is something to read. */
async function read(harness: TabHarness, isOver: () => boolean): Promise<void> {
  const { first, sessionIds } = harness
  await harness.until(
    'there is something to read',
    () => isOver() || sessionIds.every(id => first.chat(id).store.head > 0),
  )
  harness.read()
}

/** Injects one fault at a random moment. */
async function fault(harness: TabHarness, isOver: () => boolean): Promise<void> {
  const { random, server } = harness
  const [after, kind] = [random.below(MAX_OBSERVATIONS_BEFORE_EVENT), random.pick(FAULTS)]
  await harness.waitForObservations(after, isOver)
  if (isOver()) return
  const tab = random.pick(harness.tabs)
  const { gate } = tab
  harness.faults++
  harness.notes.push(`${kind} of ${tab.name} after ${harness.observed} changes`)
  switch (kind) {
    case 'cut-at':
      for (const link of gate.links) link.set({ down: { cutAt: random.below(MAX_CUT_BYTES) } })
      break
    case 'reset-at':
      for (const link of gate.links) link.set({ down: { resetAt: random.below(MAX_CUT_BYTES) } })
      break
    case 'silence': {
      // The connection is open and sends nothing. The tab has to notice by the missing heartbeats, and connect again.
      await harness.until('the tab is live', () => isOver() || tab.isLive)
      if (isOver()) return
      const links = [...gate.links]
      const reconnected = gate.event('connect')
      for (const link of links) link.stall('down')
      await Promise.race([reconnected, harness.until('the tab connects again', isOver)])
      for (const link of links) link.cut()
      break
    }
    case 'server':
      await server.killServer(harness.pause(MAX_OUTAGE_MS))
      break
    case 'away':
      await tab.awayWhile(harness.pause(MAX_OUTAGE_MS))
      break
    default:
      await harness.breakConnections(gate, kind)
  }
}
