// Schedules from seeds: a seed says who does what, how it is followed, and what happens to whom and when.

import { Random } from '../../../../scripts/faults/random.ts'
import type { House } from './house.fixture.ts'
import { type Patience, Scene } from './scene.fixture.ts'
import { Script } from './script.fixture.ts'
import { heldOf, verdict } from './verdict.fixture.ts'

/** What can happen, each as often as it stands here. */
const FAULTS = ['cut', 'cut', 'cut', 'reset', 'stall', 'half-close', 'refuse', 'server', 'worker'] as const

/** How many entries are seen at most before something happens. */
const USUAL = 60
const SOON_MS = 15
/** How long a stall or a refusal lasts at most. */
const WHILE_MS = 60

export interface Report {
  readonly problems: readonly string[]
  readonly notes: readonly string[]
  readonly drops: number
  readonly followers: number
}

/** Plays a schedule; its sessions are called after its seed and a name that is not used twice. */
export async function schedule(seed: number, house: House, name: string, patience?: Patience): Promise<Report> {
  const random = new Random(seed)
  const sessionIds = Array.from({ length: random.pick([1, 1, 1, 2]) }, (_, n) => `s${seed}-${n}-${name}`)
  const scene = new Scene(house, random, sessionIds, patience)
  const scripts: Script[] = []
  const problems: string[] = []
  try {
    await scene.join()
    for (const sight of scene.first.sights) scripts.push(new Script(scene, sight))
    let isOver = false
    const played = Promise.all(scripts.map(script => script.play())).finally(() => {
      isOver = true
      scene.look()
    })
    const happenings = Promise.all([
      ...Array.from({ length: random.between(1, 4) }, () => happen(scene, () => isOver)),
      joinAt(scene, random.pick([random.below(USUAL), random.below(4 * USUAL), Infinity]), () => isOver),
    ])
    await Promise.all([played, happenings])
    scene.calm()
    const logs = await Promise.all(sessionIds.map(sessionId => heldOf(scene, sessionId)))
    await scene.runsFollowed()
    for (const { name: who, sights } of scene.followers) {
      await scene.until(`${who} has all`, () =>
        sights.every(({ position, isLost, incarnation }, n) => {
          const log = logs[n]
          return !isLost && position >= (log?.head ?? 0) && incarnation === log?.incarnation
        }),
      )
    }
    await scene.leave()
    problems.push(...verdict(scene, logs))
  } catch (error) {
    // What it was given until then may say why.
    await scene.leave().catch(() => {})
    problems.push(error instanceof Error ? error.message : String(error))
    const logs = await Promise.all(sessionIds.map(sessionId => heldOf(scene, sessionId)))
    problems.push(...verdict(scene, logs))
  }
  for (const script of scripts) problems.push(...script.problems)
  return { problems, notes: scene.notes, drops: scene.drops, followers: scene.followers.length }
}

/** Another joins when so much is seen, or all is over. */
async function joinAt(scene: Scene, count: number, isOver: () => boolean): Promise<void> {
  await scene.until('another joins', () => scene.count >= count || isOver())
  await scene.soon(SOON_MS)
  await scene.join()
}

/** For who waits for something else, and is not to wait longer than the schedule lasts. */
const NEVER = () => false

/** One thing happens, at a moment. */
async function happen(scene: Scene, isOver: () => boolean): Promise<void> {
  const { random, house } = scene
  const [at, fault, which] = [random.below(USUAL), random.pick(FAULTS), random.below(2)]
  await scene.until('something happens', () => scene.count >= at || isOver())
  await scene.soon(SOON_MS)
  if (isOver()) return
  scene.notes.push(`${fault} when ${scene.count} entries are seen`)
  const { gate } = scene.anyLine()
  switch (fault) {
    case 'cut':
      gate.cut()
      break
    case 'reset':
      gate.reset()
      break
    case 'half-close':
      gate.halfClose(random.pick(['up', 'down']))
      break
    case 'stall':
      gate.stall(random.pick(['up', 'down', undefined]))
      await scene.soon(WHILE_MS)
      gate.resume()
      break
    case 'refuse':
      gate.refuse(true)
      gate.cut()
      await scene.soon(WHILE_MS)
      gate.refuse(false)
      break
    case 'server':
      await Promise.race([house.killServer(), scene.until('another server listens', NEVER)])
      break
    case 'worker':
      await Promise.race([house.killWorker(which), scene.until('another worker works', NEVER)])
      break
  }
}
