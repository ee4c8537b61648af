// Schedules in which a store is restored from an older copy while readers hold cursors past its head.

import { copyFileSync, existsSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { decodeCursor } from '@millrace/protocol'
import type { FaultProxy } from '../../../../../scripts/faults/proxy.ts'
import type { Random } from '../chaos/random.fixture.ts'
import type { ReportedReader } from './fault-record.fixture.ts'
import type { FaultHarness } from './store-fault-harness.fixture.ts'
import type { Run } from './store-process-messages.fixture.ts'
import type { StoreProcess } from './store-process-pool.fixture.ts'

/** Records that the log was restored, and returns its head. The checks then ignore acknowledgements past that head. */
async function recordRestore(harness: FaultHarness, run: Run, isAnnounced: boolean): Promise<number> {
  const { store } = await harness.localStore()
  const page = await store.read(run.streamId, { sequence: 0 }, { batches: 0, bytes: 0 })
  const head = page?.head ?? 0
  harness.record(run).onRestore(head)
  if (isAnnounced) {
    await store.restored()
    const after = await store.read(run.streamId, { sequence: 0 }, { batches: 0, bytes: 0 })
    if (after?.incarnation === page?.incarnation) throw new Error('law 2: the restored log has its old incarnation')
  }
  return head
}

/** Waits until the cursors of the readers are truncated. */
async function untilTruncated(harness: FaultHarness, readers: readonly ReportedReader[]): Promise<void> {
  for (const reader of readers) {
    await harness.until(`${reader.name} is truncated`, () => reader.segments.some(({ truncated }) => truncated))
  }
}

/** Waits until readers have read everything acknowledged so far. */
async function untilRead(harness: FaultHarness, run: Run, readers: readonly ReportedReader[]): Promise<void> {
  const last = Math.max(...harness.record(run).acks.map(ack => ack.last))
  for (const reader of readers)
    await harness.until(`${reader.name} has read ${last}`, () => reader.current.sequence >= last)
}

/** Restores the data of a server, with or without a call of `restored()`. */
export const restored = (isAnnounced: boolean) => async (harness: FaultHarness, random: Random) => {
  const { service } = harness.testStore
  if (service === undefined) throw new Error('a server is needed to restore its data')
  const run = harness.run()
  const proxy = await harness.startProxy()
  const suspendable = await harness.actor()
  const readers = [
    await harness.startReader(run),
    await harness.startReader(run, await harness.actor()),
    await harness.startReader(run, suspendable),
  ]
  const startProcess = async (takeover: boolean) => {
    const writer = await harness.actor({ spec: harness.via(proxy) })
    await writer.order({ do: 'write', run, takeover })
    const { claims } = harness.record(run)
    await harness.until(`${writer.tag} has the log`, () => claims.some(({ by }) => by === writer.tag))
    return writer
  }
  let writer = await startProcess(false)
  await harness.waitForAcks(run, random.between(1, 15))
  const copy = await service.copy()
  await writer.sync()
  await harness.waitForAcks(run, random.between(2, 15))
  // The writer continues under the epoch that the copy has, or another one takes over under a later epoch.
  if (random.chance(0.4)) {
    // The old writer may not notice before the restore. The copy has its epoch but not its last entries.
    harness.allow(writer, 'fenced', 'regressed')
    writer = await startProcess(true)
    await harness.waitForAcks(run, random.between(2, 10))
  }
  await disconnect(proxy, writer)
  await untilRead(harness, run, readers)
  const isSuspended = random.chance(0.5)
  if (isSuspended) await suspendable.freeze()
  await service.restore(copy)
  const oldHead = harness.record(run).acks.at(-1)?.last ?? 0
  const head = await recordRestore(harness, run, isAnnounced)
  harness.note(`restored from ${oldHead} to ${head}; one reader suspended: ${isSuspended}`)
  // No writer appends yet: readers past the head get an error without waiting for an append.
  await untilTruncated(harness, isSuspended ? readers.slice(0, 2) : readers)
  harness.allow(writer, 'fenced', 'regressed')
  proxy.refuse(false)
  const { losses, acks } = harness.record(run)
  await harness.until('the writer is lost', () => losses.some(({ by }) => by === writer.tag))
  if (losses.some(({ by, code }) => by === writer.tag && code === 'fenced')) await startProcess(true)
  // When it continues, entries of another writer are at its sequences.
  if (isSuspended) {
    await harness.until('the log is as long again', () => (acks.at(-1)?.last ?? 0) > oldHead)
    suspendable.thaw()
  }
  await untilTruncated(harness, readers)
  await harness.waitForAcks(run, 5)
}

/** Cuts the connections of a writer. Afterwards no append is in flight, and all acknowledgements are known. */
async function disconnect(proxy: FaultProxy, writer: StoreProcess): Promise<void> {
  proxy.refuse(true)
  proxy.cut()
  await writer.sync()
}

/** Restores a file that no process has open. */
export const restoredFile = (isAnnounced: boolean) => async (harness: FaultHarness, random: Random) => {
  const { path } = harness.testStore.spec as { path: string }
  const run = harness.run()
  const others = [await harness.actor(), await harness.actor()]
  const readers = [
    await harness.startReader(run),
    await harness.startReader(run, others[0]),
    await harness.startReader(run, others[1]),
  ]
  let writer = await harness.actor()
  await writer.order({ do: 'write', run, takeover: false })
  await harness.waitForAcks(run, random.between(1, 15))
  const isVacuumed = random.chance(0.5)
  if (isVacuumed) vacuum(path)
  else await copyFrozen(path, [writer, ...others])
  await writer.sync()
  await harness.waitForAcks(run, random.between(2, 15))
  if (random.chance(0.4)) {
    await writer.kill()
    writer = await harness.actor()
    await writer.order({ do: 'write', run, takeover: true })
    await harness.waitForAcks(run, random.between(2, 10))
  }
  await writer.kill()
  await untilRead(harness, run, readers)
  const oldHead = readers[0]?.current.sequence ?? 0
  const lastAcked = decodeCursor(readers[0]?.current.cursor ?? 0)
  const { epoch = '' } = harness.record(run).claims.at(-1) ?? {}
  for (const actor of others) await actor.close()
  await harness.closeLocalStore()
  restoreFile(path)
  const head = await recordRestore(harness, run, isAnnounced)
  harness.note(`restored from ${oldHead} to ${head}, ${isVacuumed ? 'vacuumed' : 'copied'}`)
  await expectRefusedAppend(harness, run, epoch, lastAcked)
  // Some readers resume before any append and get an error. Others find entries of another writer at their sequences.
  const early = random.below(readers.length + 1)
  const resumeReaders = async (some: readonly ReportedReader[]) => {
    for (const reader of some) {
      const actor = others[readers.indexOf(reader) - 1]
      if (actor) await harness.open(actor)
      await harness.resume(reader, actor)
    }
    await untilTruncated(harness, some)
  }
  await resumeReaders(readers.slice(0, early))
  const next = await harness.actor()
  await next.order({ do: 'write', run, takeover: true })
  const { acks } = harness.record(run)
  await harness.until('the log is as long again', () => (acks.at(-1)?.last ?? 0) > oldHead)
  await resumeReaders(readers.slice(early))
  await harness.waitForAcks(run, 5)
}

/** A writer with acknowledged entries past the restored head must not continue (law 4). */
async function expectRefusedAppend(
  harness: FaultHarness,
  { streamId }: Run,
  epoch: string,
  last: ReturnType<typeof decodeCursor>,
) {
  const { store } = await harness.localStore()
  const { sequence, incarnation = '', epoch: mark = '' } = last
  const by = { epoch, counter: 1000, lastAcked: { sequence, incarnation, epoch: mark } }
  const { outcome } = await store.append(streamId, { body: '["stray"]', count: 1 }, by)
  if (outcome !== 'fenced' && outcome !== 'regressed')
    throw new Error(`law 4: an append of a writer past the head is ${outcome}`)
}

const SUFFIXES = ['', '-wal', '-shm']

function vacuum(path: string): void {
  const file = new DatabaseSync(path)
  file.exec(`PRAGMA busy_timeout = 10000; VACUUM INTO '${path}.copy'`)
  file.close()
}

/** Like a disk after a power loss: no process writes between the copies of the files. */
async function copyFrozen(path: string, actors: readonly StoreProcess[]): Promise<void> {
  for (const actor of actors) await actor.freeze()
  for (const suffix of SUFFIXES) if (existsSync(path + suffix)) copyFileSync(path + suffix, `${path}.copy${suffix}`)
  for (const actor of actors) actor.thaw()
}

function restoreFile(path: string): void {
  for (const suffix of SUFFIXES) {
    rmSync(path + suffix, { force: true })
    // The shared memory of the processes is not part of the copy.
    if (suffix !== '-shm' && existsSync(`${path}.copy${suffix}`)) copyFileSync(`${path}.copy${suffix}`, path + suffix)
  }
}
