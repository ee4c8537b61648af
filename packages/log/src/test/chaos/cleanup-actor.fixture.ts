import type { LogStore } from '../../store/log-store.ts'
import type { Actor, ActorMode } from './schedule-actor.fixture.ts'

/** Maintains the logs: forks, snapshots, trims, removes, restores, and sometimes pauses or stops a run by hand. */
export async function cleanupActor(actor: Actor, store: LogStore, mode: ActorMode): Promise<void> {
  const { random, world } = actor
  while (!mode.isFinishing) {
    await actor.sleep(20, 250)
    const [streamId] = world.logs.size > 0 ? [random.pick([...world.logs.keys()])] : []
    if (streamId !== undefined) await actor.attempt(() => maintain(actor, store, streamId), ['exists'])
  }
}

async function maintain(actor: Actor, store: LogStore, streamId: string): Promise<void> {
  const { random, manager, world } = actor
  const info = await manager.getInfo(streamId)
  if (info === null) return
  const { head, floor } = info
  const work: readonly (readonly [number, string, () => Promise<unknown>])[] = [
    [5, 'fork', () => fork(actor, streamId, random.between(floor, head))],
    [5, 'snapshot', () => manager.snapshot(streamId)],
    [5, 'trim', () => manager.trimStream(streamId, { maxEntries: random.between(1, 40) })],
    [1, 'trim by age', () => manager.trimStream(streamId, { maxAgeMs: world.scheduleStore.clock ? 500 : 0 })],
    [3, 'view', () => manager.view(streamId, random.between(floor, head))],
    [1, 'list', () => manager.listStreams(undefined, { limit: 2 })],
    [0.7, 'delete', () => manager.deleteStream(streamId)],
    [0.3, 'expire', () => manager.expireStream(streamId, 0)],
    [0.5, 'restored', () => store.restored()],
    [1, 'cleanup with a floor', () => manager.cleanupToStep(streamId, 0, { minSequence: random.between(0, head) })],
    [1, 'cleanup', () => manager.cleanupToStep(streamId, random.below(3), { nextRunId: world.name('run') })],
    [0.5, 'pauseStream', () => pause(actor, streamId)],
    [1, 'resumeStream', () => manager.resumeStream(streamId)],
    [0.5, 'endStream', () => manager.endStream(streamId, 'enough')],
    [0.5, 'failStream', () => manager.failStream(streamId, 'by hand')],
  ]
  const [name, run] = random.weighted(work.map(([weight, name, run]) => [weight, [name, run]] as const))
  actor.recordAction(`${name} ${streamId}`)
  await run()
}

async function pause({ manager, world }: Actor, streamId: string): Promise<void> {
  world.paused.add(streamId)
  await manager.pauseStream(streamId)
}

async function fork({ manager, world, random }: Actor, streamId: string, at: number): Promise<void> {
  if (world.logs.size > 5) return
  const target = `${world.prefix}${world.name('fork')}`
  await manager.forkStream(streamId, at, target)
  // A fork survives the removal of its source.
  if (random.chance(0.1)) await manager.deleteStream(streamId)
}
