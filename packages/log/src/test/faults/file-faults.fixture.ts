// Schedules of one SQLite file that several processes share: kills during transactions, locks and a full disk.

import { DatabaseSync } from 'node:sqlite'
import type { Random } from '../chaos/random.fixture.ts'
import type { FaultScene } from './store-fault-scene.fixture.ts'
import type { Run } from './store-process-messages.fixture.ts'
import type { StoreProcess } from './store-process-pool.fixture.ts'
import type { StoreSpec } from './store-spec.fixture.ts'

const pathOf = (scene: FaultScene): string => (scene.testStore.spec as { path: string }).path

/** Reads one number from the file, without a store. */
function queryNumber(scene: FaultScene, sql: string): number {
  const file = new DatabaseSync(pathOf(scene), { readOnly: true })
  try {
    return Object.values(file.prepare(sql).get() ?? {})[0] as number
  } finally {
    file.close()
  }
}

/** Whether a process holds the write lock of the file. */
export function isLocked(path: string): boolean {
  const file = new DatabaseSync(path, { timeout: 0 })
  try {
    file.exec('BEGIN IMMEDIATE; ROLLBACK')
    return false
  } catch {
    return true
  } finally {
    file.close()
  }
}

/** Several processes write large batches to one file and are killed while writing. The file is intact each time. */
export async function sharedFile(scene: FaultScene, random: Random): Promise<void> {
  const runs = ['a', 'b', 'c'].map(name => scene.run(name))
  const writers = new Map<Run, StoreProcess>()
  const startProcess = async (run: Run) => {
    const writer = await scene.actor({ plan: { outputLength: random.pick([500, 20_000, 60_000]) } })
    await writer.order({ do: 'write', run, takeover: writers.has(run) })
    writers.set(run, writer)
  }
  const reading = await scene.actor()
  for (const run of runs) {
    await scene.startReader(run)
    await scene.startReader(run, reading)
    await startProcess(run)
  }
  for (let deaths = random.between(3, 4); deaths > 0; deaths--) {
    const run = random.pick(runs)
    const { sent } = scene.record(run)
    const to = sent.length + random.between(1, 12)
    await scene.until(`batch ${to} of ${run.streamId} is sent`, () => sent.length >= to)
    const writer = writers.get(run) as StoreProcess
    await writer.kill()
    scene.note(`${writer.tag} killed at batch ${to} of ${run.streamId}`)
    const checked = queryNumber(scene, 'PRAGMA quick_check') as unknown
    if (checked !== 'ok') throw new Error(`the file is damaged: ${checked}`)
    await startProcess(run)
  }
  for (const run of runs) await scene.waitForAcks(run, 3)
}

/** Another process holds the lock during a change, and releases it or dies. The writers wait. */
export async function lockedFile(scene: FaultScene, random: Random): Promise<void> {
  const runs = ['a', 'b'].map(name => scene.run(name))
  for (const run of runs) {
    const writer = await scene.actor()
    await scene.startReader(run)
    await scene.startReader(run, writer)
    await writer.order({ do: 'write', run, takeover: false })
    await scene.waitForAcks(run, 1)
  }
  // Long enough that the store gives up and the writers retry.
  let isLong = random.chance(0.4)
  for (let locks = random.between(2, 3); locks > 0; locks--) {
    await scene.waitForAcks(random.pick(runs), random.between(1, 15))
    const locker = await scene.actor()
    const { length } = scene.events
    await locker.order({ do: 'lock', path: pathOf(scene) })
    await scene.until('the file is locked', () => scene.events.length > length)
    if (isLong) await scene.until('a call fails', () => scene.events.length > length + 1)
    const dies = random.chance(0.5)
    scene.note(`locked, ${isLong ? 'until a call failed' : 'for a moment'}, ${dies ? 'killed' : 'released'}`)
    if (dies) await locker.kill()
    else await locker.order({ do: 'unlock' })
    isLong = false
    for (const run of runs) await scene.waitForAcks(run, 2)
  }
}

/** The file cannot grow: appends fail without partial data, and succeed again when there is room. */
export async function fullFile(scene: FaultScene, random: Random): Promise<void> {
  const { store } = await scene.localStore()
  await store.create('ballast', null)
  await store.putBlob('ballast', 'hash', new Uint8Array(2 * 1024 * 1024))
  const run = scene.run()
  const maxPages = queryNumber(scene, 'PRAGMA page_count') + random.between(5, 60)
  await scene.startReader(run)
  await scene.startReader(run, await scene.actor())
  const spec = { ...scene.testStore.spec, maxPages } as StoreSpec
  const plan = { outputLength: random.pick([200, 1500, 100_000]) }
  const writer = await scene.actor({ spec, plan })
  await writer.order({ do: 'write', run, takeover: false })
  await scene.until('the file is full', () => scene.events.length > 0)
  const [failedCall] = scene.events
  if (failedCall?.kind !== 'call-failed' || !/disk is full/.test(failedCall.message)) {
    throw new Error(`expected an error about a full file, found ${JSON.stringify(failedCall)}`)
  }
  if (queryNumber(scene, 'PRAGMA page_count') > maxPages) throw new Error(`the file has more than ${maxPages} pages`)
  const remedy = random.pick(['freed', 'taken over', 'raised'] as const)
  scene.note(`full at ${maxPages} pages, then ${remedy}`)
  if (remedy === 'freed') {
    // Every writer can use the free pages of the file.
    await store.remove('ballast')
  } else if (remedy === 'taken over') {
    scene.allow(writer, 'fenced')
    const next = await scene.actor({ plan })
    await next.order({ do: 'write', run, takeover: true })
  } else {
    await writer.kill()
    const next = await scene.actor({ spec: { ...spec, maxPages: maxPages + 4096 } as StoreSpec, plan })
    await next.order({ do: 'write', run, takeover: true })
  }
  await scene.waitForAcks(run, 10)
  // It may not have noticed yet: writes of blobs are not fenced, and fail while the file is full.
  if (remedy === 'taken over') await writer.kill()
}
