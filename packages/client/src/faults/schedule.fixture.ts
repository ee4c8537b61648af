// Schedules from seeds: a seed says who does what, who looks at it, and what happens to whom and when.

import { Random } from '../../../../scripts/faults/random.ts'
import type { House } from './house.fixture.ts'
import { Scene } from './scene.fixture.ts'
import { Script } from './script.fixture.ts'
import { verdict } from './verdict.fixture.ts'

/** What can happen, each as often as it stands here. */
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

/** After how many looks at most something happens. */
const USUAL = 60
const SOON_MS = 15
/** How long a stall, a refusal, or an absence lasts at most. */
const WHILE_MS = 60
/** Within how many bytes a connection is cut. */
const BYTES = 8_000

export interface Report {
  readonly problems: readonly string[]
  readonly notes: readonly string[]
  /** How many connections were made through the proxies. */
  readonly connections: number
  readonly tampered: number
  readonly tabs: number
}

/** Plays a schedule; its sessions are called after its seed and a name that is not used twice. */
export async function schedule(seed: number, house: House, name: string, signal?: AbortSignal): Promise<Report> {
  const random = new Random(seed)
  const count = random.pick([1, 1, 1, 1, 2, 3])
  const sessionIds = Array.from({ length: count }, (_, n) => `s${seed}-${n}-${name}`)
  const scene = new Scene(house, random, sessionIds, signal)
  const scripts: Script[] = []
  const problems: string[] = []
  try {
    await scene.join()
    for (const sessionId of sessionIds) scripts.push(new Script(scene, sessionId))
    let isOver = false
    const played = Promise.all(scripts.map(script => script.play())).finally(() => {
      isOver = true
      scene.look()
    })
    const happenings = [
      ...Array.from({ length: random.between(1, 5) }, () => happen(scene, () => isOver)),
      ...Array.from({ length: random.below(3) }, () => join(scene, () => isOver)),
      ...(random.below(3) === 0 ? [read(scene, () => isOver)] : []),
    ]
    await Promise.all([played, ...happenings])
    scene.calm()
    const heads = new Map<string, number>()
    for (const sessionId of sessionIds) heads.set(sessionId, (await house.manager.getInfo(sessionId))?.head ?? 0)
    await scene.until('all know all', () => isCaughtUp(scene, heads))
    problems.push(...(await verdict(scene, scripts)))
  } catch (error) {
    problems.push(error instanceof Error ? error.message : String(error), ...stateOf(scene))
    problems.push(...(await verdict(scene, scripts)))
  }
  for (const script of scripts) problems.push(...script.problems)
  const { tabs, notes } = scene
  scene.leave()
  const connections = tabs.reduce((sum, { gate }) => sum + gate.counts().connections, 0)
  return { problems, notes, connections, tampered: tabs.reduce((sum, tab) => sum + tab.tampered, 0), tabs: tabs.length }
}

function isCaughtUp({ tabs, readers }: Scene, heads: ReadonlyMap<string, number>): boolean {
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

/** For who looks at a schedule that did not come to its end. */
function stateOf({ tabs, sessionIds }: Scene): string[] {
  return tabs.flatMap(({ name, seats }) =>
    sessionIds.map(sessionId => {
      const { state, store } = seats.get(sessionId)?.chat ?? {}
      const { status, runId, connection, error } = state ?? {}
      return `${name}, ${sessionId}: ${JSON.stringify({ head: store?.head, status, runId, connection, error })}`
    }),
  )
}

/** Another tab joins when so much was seen, or all is over. */
async function join(scene: Scene, isOver: () => boolean): Promise<void> {
  const at = scene.random.pick([scene.random.below(USUAL), scene.random.below(4 * USUAL), Infinity])
  await scene.until('another joins', () => scene.looks >= at || isOver())
  await scene.soon(SOON_MS)
  await scene.join()
}

/** Somebody reads by the plain loop, once there is something to read. */
async function read(scene: Scene, isOver: () => boolean): Promise<void> {
  const { first, sessionIds } = scene
  await scene.until(
    'there is something to read',
    () => isOver() || sessionIds.every(id => first.chat(id).store.head > 0),
  )
  scene.read()
}

/** One thing happens, at a moment. */
async function happen(scene: Scene, isOver: () => boolean): Promise<void> {
  const { random, house } = scene
  const [at, fault] = [random.below(USUAL), random.pick(FAULTS)]
  await scene.until('something happens', () => scene.looks >= at || isOver())
  await scene.soon(SOON_MS)
  if (isOver()) return
  const tab = random.pick(scene.tabs)
  const { gate } = tab
  scene.notes.push(`${fault} of ${tab.name} after ${scene.looks} looks`)
  switch (fault) {
    case 'cut-at':
      for (const link of gate.links) link.set({ down: { cutAt: random.below(BYTES) } })
      break
    case 'reset-at':
      for (const link of gate.links) link.set({ down: { resetAt: random.below(BYTES) } })
      break
    case 'cut':
    case 'reset':
      gate[fault]()
      break
    case 'half-close':
      gate.halfClose(random.pick(['up', 'down']))
      break
    case 'stall':
      gate.stall(random.pick(['up', 'down', undefined]))
      await scene.soon(WHILE_MS)
      gate.resume()
      break
    case 'silence': {
      // It says nothing any more, and is not closed either: whoever was told how soon to notice comes back by another way.
      await scene.until('all are live', () => isOver() || tab.isLive)
      if (isOver()) return
      const links = [...gate.links]
      const back = gate.event('connect')
      for (const link of links) link.stall('down')
      await Promise.race([back, scene.until('nobody minds the silence', isOver)])
      for (const link of links) link.cut()
      break
    }
    case 'refuse':
      gate.refuse(true)
      gate.cut()
      await scene.soon(WHILE_MS)
      gate.refuse(false)
      break
    case 'server':
      await house.restart(scene.soon(WHILE_MS))
      break
    case 'away':
      await tab.awayWhile(scene.soon(WHILE_MS))
      break
  }
}
