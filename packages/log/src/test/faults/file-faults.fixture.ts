// Schedules of one SQLite file that several processes share: kills during transactions, locks and a full disk.

import { DatabaseSync } from 'node:sqlite'
import type { Random } from '../chaos/random.fixture.ts'
import type { FaultHarness } from './store-fault-harness.fixture.ts'
import type { Run } from './store-process-messages.fixture.ts'
import type { StoreProcess } from './store-process-pool.fixture.ts'
import type { StoreSpec } from './store-spec.fixture.ts'

const pathOf = (harness: FaultHarness): string => (harness.testStore.spec as { path: string }).path

/** Reads one number from the file, without a store. */
function queryNumber(harness: FaultHarness, sql: string): number {
  const file = new DatabaseSync(pathOf(harness), { readOnly: true })
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
export async function sharedFile(harness: FaultHarness, random: Random): Promise<void> {
  const runs = ['a', 'b', 'c'].map(name => harness.run(name))
  const writers = new Map<Run, StoreProcess>()
  const startProcess = async (run: Run) => {
    const writer = await harness.actor({ plan: { outputLength: random.pick([500, 20_000, 60_000]) } })
    await writer.order({ do: 'write', run, takeover: writers.has(run) })
    writers.set(run, writer)
  }
  const reading = await harness.actor()
  for (const run of runs) {
    await harness.startReader(run)
    await harness.startReader(run, reading)
    await startProcess(run)
  }
  for (let deaths = random.between(3, 4); deaths > 0; deaths--) {
    const run = random.pick(runs)
    const { sent } = harness.record(run)
    const to = sent.length + random.between(1, 12)
    await harness.until(`batch ${to} of ${run.streamId} is sent`, () => sent.length >= to)
    const writer = writers.get(run) as StoreProcess
    await writer.kill()
    harness.note(`${writer.tag} killed at batch ${to} of ${run.streamId}`)
    const checked = queryNumber(harness, 'PRAGMA quick_check') as unknown
    if (checked !== 'ok') throw new Error(`the file is damaged: ${checked}`)
    await startProcess(run)
  }
  for (const run of runs) await harness.waitForAcks(run, 3)
}

/** Another process holds the lock during a change, and releases it or dies. The writers wait. */
export async function lockedFile(harness: FaultHarness, random: Random): Promise<void> {
  const runs = ['a', 'b'].map(name => harness.run(name))
  for (const run of runs) {
    const writer = await harness.actor()
    await harness.startReader(run)
    await harness.startReader(run, writer)
    await writer.order({ do: 'write', run, takeover: false })
    await harness.waitForAcks(run, 1)
  }
  // Long enough that the store gives up and the writers retry.
  let isLong = random.chance(0.4)
  for (let locks = random.between(2, 3); locks > 0; locks--) {
    await harness.waitForAcks(random.pick(runs), random.between(1, 15))
    const locker = await harness.actor()
    const { length } = harness.events
    await locker.order({ do: 'lock', path: pathOf(harness) })
    await harness.until('the file is locked', () => harness.events.length > length)
    if (isLong) await harness.until('a call fails', () => harness.events.length > length + 1)
    const dies = random.chance(0.5)
    harness.note(`locked, ${isLong ? 'until a call failed' : 'for a moment'}, ${dies ? 'killed' : 'released'}`)
    if (dies) await locker.kill()
    else await locker.order({ do: 'unlock' })
    isLong = false
    for (const run of runs) await harness.waitForAcks(run, 2)
  }
}

/** The file cannot grow: appends fail without partial data, and succeed again when there is room. */
export async function fullFile(harness: FaultHarness, random: Random): Promise<void> {
  const { store } = await harness.localStore()
  await store.create('ballast', null)
  await store.putBlob('ballast', 'hash', new Uint8Array(2 * 1024 * 1024))
  const run = harness.run()
  const maxPages = queryNumber(harness, 'PRAGMA page_count') + random.between(5, 60)
  await harness.startReader(run)
  await harness.startReader(run, await harness.actor())
  const spec = { ...harness.testStore.spec, maxPages } as StoreSpec
  const plan = { outputLength: random.pick([200, 1500, 100_000]) }
  const writer = await harness.actor({ spec, plan })
  await writer.order({ do: 'write', run, takeover: false })
  await harness.until('the file is full', () => harness.events.length > 0)
  const [failedCall] = harness.events
  if (failedCall?.kind !== 'call-failed' || !/disk is full/.test(failedCall.message)) {
    throw new Error(`expected an error about a full file, found ${JSON.stringify(failedCall)}`)
  }
  if (queryNumber(harness, 'PRAGMA page_count') > maxPages) throw new Error(`the file has more than ${maxPages} pages`)
  const remedy = random.pick(['freed', 'taken over', 'raised'] as const)
  harness.note(`full at ${maxPages} pages, then ${remedy}`)
  if (remedy === 'freed') {
    // Every writer can use the free pages of the file.
    await store.remove('ballast')
  } else if (remedy === 'taken over') {
    harness.allow(writer, 'fenced')
    const next = await harness.actor({ plan })
    await next.order({ do: 'write', run, takeover: true })
  } else {
    await writer.kill()
    const next = await harness.actor({ spec: { ...spec, maxPages: maxPages + 4096 } as StoreSpec, plan })
    await next.order({ do: 'write', run, takeover: true })
  }
  await harness.waitForAcks(run, 10)
  // It may not have noticed yet: writes of blobs are not fenced, and fail while the file is full.
  if (remedy === 'taken over') await writer.kill()
}
