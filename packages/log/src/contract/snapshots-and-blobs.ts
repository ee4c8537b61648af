import { randomBytes } from 'node:crypto'
import type { BlobScope, LogStore, StoredSnapshot } from '../store/log-store.ts'
import { assertEqual, assertPresent } from './assert.ts'
import { type ContractCase, define } from './contract-case.ts'
import { batch, guest } from './writer.ts'

/** Laws 6 and 12: snapshots and blobs. */
export const snapshotsAndBlobs: readonly ContractCase[] = [
  define(12, 'snapshots: returns the newest at or below a sequence, unchanged', async trial => {
    const store = await trial.open()
    const streamId = await trial.log(store)
    const neighbour = await trial.log(store, 'neighbour')
    assertEqual(await store.getSnapshot(streamId, 9), undefined, 'a log without a snapshot')
    for (const sequence of [5, 0, 9]) await store.putSnapshot(streamId, snapshotAt(sequence), 9)
    const foundAt = async (atMost: number) => (await store.getSnapshot(streamId, atMost))?.sequence
    const positions = [0, 4, 5, 8, 9, 1000, Number.MAX_SAFE_INTEGER]
    assertEqual(
      await Promise.all(positions.map(foundAt)),
      [0, 0, 5, 5, 9, 9, 9],
      `the snapshots at or below ${positions}`,
    )
    assertEqual(await store.getSnapshot(streamId, 7), snapshotAt(5), 'a snapshot')
    assertEqual(await (await trial.open()).getSnapshot(streamId, 7), snapshotAt(5), 'a snapshot, from another handle')
    assertEqual(await store.getSnapshot(neighbour, 9), undefined, 'the snapshots of another log')
  }),

  define(12, 'snapshots: one at the same sequence is replaced', async trial => {
    const store = await trial.open()
    const streamId = await trial.log(store)
    await store.putSnapshot(streamId, snapshotAt(3), 2)
    await store.putSnapshot(streamId, snapshotAt(5), 2)
    const next = { sequence: 5, mark: 'other', version: 8, body: '{"other":true}' }
    await store.putSnapshot(streamId, next, 2)
    assertEqual(await store.getSnapshot(streamId, 9), next, 'the newest snapshot, after it was replaced')
    assertEqual(await store.getSnapshot(streamId, 4), snapshotAt(3), 'the snapshot before it, which is still kept')
  }),

  define(12, 'snapshots: keeps the given number of newest ones, by sequence', async trial => {
    const store = await trial.open()
    const streamId = await trial.log(store)
    const stored = () => snapshotsOf(store, streamId)
    for (const sequence of [1, 2, 3, 4]) await store.putSnapshot(streamId, snapshotAt(sequence), 3)
    assertEqual(await stored(), [4, 3, 2], 'the newest three of four')
    await store.putSnapshot(streamId, snapshotAt(1), 3)
    assertEqual(await stored(), [4, 3, 2], 'the snapshots after an older one was put')
    await store.putSnapshot(streamId, snapshotAt(10), 2)
    assertEqual(await stored(), [10, 4], 'the newest two')
    await store.putSnapshot(streamId, snapshotAt(11), 1)
    assertEqual(await stored(), [11], 'the newest one')
  }),

  define(12, 'snapshots: always keeps the newest at or below the floor', async trial => {
    const store = await trial.open()
    const streamId = await trial.log(store)
    await store.append(streamId, batch(...'abcdefghij'), guest())
    for (const sequence of [1, 3, 5]) await store.putSnapshot(streamId, snapshotAt(sequence), 9)
    await store.trim(streamId, 4)
    for (const sequence of [6, 7, 8, 9]) await store.putSnapshot(streamId, snapshotAt(sequence), 2)
    assertEqual(await snapshotsOf(store, streamId), [9, 8, 3], 'the newest two, and what a log trimmed to 4 needs')
    await store.putSnapshot(streamId, snapshotAt(4), 2)
    assertEqual(await snapshotsOf(store, streamId), [9, 8, 4], 'the snapshots after one was put at the floor')
    await store.putSnapshot(streamId, snapshotAt(2), 2)
    assertEqual(await snapshotsOf(store, streamId), [9, 8, 4], 'the snapshots after one was put below the floor')
    await store.trim(streamId, 8)
    await store.putSnapshot(streamId, snapshotAt(10), 1)
    assertEqual(await snapshotsOf(store, streamId), [10, 8], 'the newest, and what a log trimmed to 8 needs')
  }),

  define(12, 'snapshots: returns a large body of any text unchanged', async trial => {
    const store = await trial.open()
    const streamId = await trial.log(store)
    const body = `{"text":"${'é語🙂\\u0000\\ud800'.repeat(60_000)}","__proto__":{"n":1e400}}`
    await store.putSnapshot(streamId, { sequence: 1, mark: 'm', version: 1, body }, 1)
    assertEqual((await store.getSnapshot(streamId, 1))?.body === body, true, 'whether the body is the same')
  }),

  define(6, 'blobs: every handle returns the stored bytes', async trial => {
    const [store, other] = (await trial.opened(2)) as [LogStore, LogStore]
    const streamId = await trial.log(store)
    const blobs = {
      none: new Uint8Array(0),
      zero: new Uint8Array([0]),
      every: Uint8Array.from({ length: 256 }, (_, i) => i),
      'not-utf8': new Uint8Array([0xff, 0xfe, 0xc3, 0x28, 0xed, 0xa0, 0x80, 0x0d, 0x0a]),
      part: new Uint8Array([9, 9, 1, 2, 3, 9]).subarray(2, 5),
      large: new Uint8Array(randomBytes(1024 * 1024)),
    }
    for (const [hash, data] of Object.entries(blobs)) await store.putBlob(streamId, hash, data)
    for (const [hash, data] of Object.entries(blobs)) {
      for (const each of [store, other]) {
        const found = assertPresent(await each.getBlob(streamId, hash), `the blob '${hash}'`)
        assertEqual(found instanceof Uint8Array, true, `whether the blob '${hash}' is bytes`)
        assertEqual(Buffer.compare(found, data), 0, `the blob '${hash}' against what was put`)
      }
    }
    assertEqual(await store.getBlob(streamId, 'absent'), undefined, 'a blob that was not put')
  }),

  define(6, 'blobs: a later change of the array does not change the stored bytes', async trial => {
    const store = await trial.open()
    const streamId = await trial.log(store)
    const data = new Uint8Array([1, 2, 3])
    await store.putBlob(streamId, 'hash', data)
    data.fill(9)
    const found = assertPresent(await store.getBlob(streamId, 'hash'), 'the blob')
    assertEqual([...found], [1, 2, 3], 'a blob whose bytes the caller used again')
    found.fill(9)
    assertEqual(
      [...((await store.getBlob(streamId, 'hash')) ?? [])],
      [1, 2, 3],
      'a blob whose answer the caller changed',
    )
    await store.putBlob(streamId, 'hash', new Uint8Array([1, 2, 3]))
    assertEqual([...((await store.getBlob(streamId, 'hash')) ?? [])], [1, 2, 3], 'a blob that was put twice')
  }),

  define(6, 'blobs: measures those of a log or a principal by the beginning of their hash', async trial => {
    const store = await trial.open()
    // An optional method.
    if (store.blobUsage === undefined) return
    const usageOf = (scope: BlobScope, prefix: string) => store.blobUsage?.(scope, prefix)
    const principal = trial.id('owner')
    const [one, two, other] = ['one', 'two', 'other'].map(label => trial.id(label)) as [string, string, string]
    for (const streamId of [one, two]) await store.create(streamId, principal)
    await store.create(other, trial.id('stranger'))
    const NOTHING = { count: 0, bytes: 0 }
    assertEqual(await usageOf({ principal }, ''), NOTHING, 'a principal without blobs')
    for (const [streamId, hash, size] of [
      [one, 'a-1', 3],
      [one, 'a-2', 100_000],
      [one, 'a', 7],
      [one, 'b-1', 50],
      [two, 'a-1', 10],
      [other, 'a-1', 1000],
    ] as const) {
      await store.putBlob(streamId, hash, new Uint8Array(size))
    }
    await store.putBlob(one, 'a-1', new Uint8Array(3))
    assertEqual(await usageOf({ streamId: one }, 'a-'), { count: 2, bytes: 100_003 }, 'the blobs a-* of a log')
    assertEqual(await usageOf({ streamId: one }, ''), { count: 4, bytes: 100_060 }, 'all blobs of a log')
    assertEqual(await usageOf({ principal }, 'a-'), { count: 3, bytes: 100_013 }, 'the blobs a-* of a principal')
    assertEqual(await usageOf({ streamId: one }, 'c'), NOTHING, 'a prefix of no blob')
    assertEqual(await usageOf({ streamId: trial.id('none') }, ''), NOTHING, 'a missing log')
    await store.remove(one)
    assertEqual(await usageOf({ principal }, ''), { count: 1, bytes: 10 }, 'a principal whose log was removed')
    await Promise.all([two, other].map(streamId => store.remove(streamId)))
  }),

  define(6, 'a probe of writes changes no log', async trial => {
    const store = await trial.open()
    const streamId = await trial.log(store)
    await store.putBlob(streamId, 'hash', new Uint8Array([7]))
    const { clock: _, ...before } = await trial.head(store, streamId)
    await Promise.all([store.probeWrite?.(), store.probeWrite?.()])
    await store.probeWrite?.()
    const { clock: __, ...after } = await trial.head(store, streamId)
    assertEqual(after, before, 'a log after a probe')
    assertEqual([...((await store.getBlob(streamId, 'hash')) ?? [])], [7], 'a blob after a probe')
  }),

  define(6, 'blobs: belong to one log and are deleted only with it', async trial => {
    const store = await trial.open()
    const [one, two, three] = await Promise.all(['one', 'two', 'three'].map(label => trial.log(store, label)))
    for (const streamId of [one, two]) await store.putBlob(streamId as string, 'hash', new Uint8Array([7]))
    assertEqual(await store.getBlob(three as string, 'hash'), undefined, 'the blob in a log that it was not put into')
    await store.remove(one as string)
    assertEqual(await store.getBlob(one as string, 'hash'), undefined, 'the blob of a log that was removed')
    assertEqual([...((await store.getBlob(two as string, 'hash')) ?? [])], [7], 'the bytes of the blob in another log')
  }),
]

/** The sequences of the stored snapshots, newest first. */
async function snapshotsOf(store: LogStore, streamId: string): Promise<number[]> {
  const found: number[] = []
  let snapshot: StoredSnapshot | undefined = await store.getSnapshot(streamId, 100)
  while (snapshot !== undefined && found.length < 10) {
    found.push(snapshot.sequence)
    snapshot = snapshot.sequence > 0 ? await store.getSnapshot(streamId, snapshot.sequence - 1) : undefined
  }
  return found
}

const snapshotAt = (sequence: number): StoredSnapshot => {
  return { sequence, mark: `m${sequence}`, version: 7, body: `{"at":${sequence}}` }
}
