import type { Chunk, Entry } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import { clientCall, failure, ID, World } from '../manager/manager-world.fixture.ts'
import { isPublicBlob } from './blobs.ts'

const LARGE = 'x'.repeat(2000)
const OPTIONS = { blobBytes: 1000 }

/** Each chunk type with a field that can be moved to a blob: the chunk, the field and its placeholder. */
const VALUES: [chunk: Chunk, field: string, placeholder: unknown][] = [
  [{ type: 'tool-output-available', toolCallId: 'c1', output: { text: LARGE } }, 'output', null],
  [{ type: 'file', url: `data:text/plain,${LARGE}`, mediaType: 'text/plain' }, 'url', ''],
  [{ type: 'hook-completed', hookId: 'h', hook: 'useStep', result: [LARGE] }, 'result', null],
  [{ type: 'run-context', context: LARGE }, 'context', null],
]

describe('law 6: large values are stored as blobs', () => {
  test('resolve restores the values', async () => {
    const world = new World(OPTIONS)
    const writer = await world.writer()
    await writer.commit([{ type: 'tool-input-available', toolCallId: 'c1', toolName: 't', input: 1 }])
    const { first } = (await writer.commit(VALUES.map(([chunk]) => chunk))) as { first: number }
    const log = (await world.log()).slice(first - 1)
    for (const [i, [chunk, field, placeholder]] of VALUES.entries()) {
      const entry = log[i] as Entry
      expect(entry.chunk).toEqual({ ...chunk, [field]: placeholder })
      expect(entry.blobs).toEqual({ [`/${field}`]: { hash: expect.any(String), bytes: expect.any(Number) } })
      expect(await world.manager.resolve(ID, entry)).toEqual({ ...withoutBlobs(entry), chunk })
      const [blob] = Object.values(entry.blobs ?? {})
      expect((await world.manager.blob(ID, blob?.hash ?? ''))?.length).toBe(blob?.bytes)
    }
    for (const entry of log) expect(JSON.stringify(entry).length).toBeLessThan(1000)
  })

  test('keeps small values and values that the fold reads in the entry', async () => {
    const world = new World(OPTIONS)
    const writer = await world.writer()
    await writer.commit([
      { type: 'run-context', context: 'x'.repeat(990) },
      { type: 'state-snapshot', state: LARGE },
      { type: 'output', output: LARGE },
      { type: 'data-x', data: LARGE },
    ])
    for (const { blobs } of await world.log()) expect(blobs).toBeUndefined()
  })

  test('measures a value in bytes', async () => {
    const world = new World(OPTIONS)
    const writer = await world.writer()
    await writer.commit([
      { type: 'run-context', context: '語'.repeat(332) },
      { type: 'run-context', context: '語'.repeat(333) },
    ])
    expect((await world.log()).slice(2, 4).map(({ blobs }) => blobs !== undefined)).toEqual([false, true])
  })

  test('stores a guest’s large result as a blob, up to the size limit', async () => {
    const world = new World({ ...OPTIONS, maxBlobBytes: 5000 })
    const writer = await world.writer()
    await writer.commit([clientCall('c1')])
    const result = (size: number): Chunk => ({
      type: 'tool-output-available',
      toolCallId: 'c1',
      output: 'y'.repeat(size),
    })
    expect(await failure(world.manager.append(ID, 'ada', result(6000)))).toBe('too-large')
    expect(await world.manager.append(ID, 'ada', result(4000))).toMatchObject({ outcome: 'appended' })
    const entry = (await world.log()).at(-1) as Entry
    expect(entry.chunk).toMatchObject({ output: null })
    expect((await world.manager.resolve(ID, entry)).chunk).toEqual(result(4000))
    // The idempotency check compares the original chunk, not the stored one.
    expect(await world.manager.append(ID, 'ada', result(4000))).toMatchObject({ outcome: 'duplicate' })
  })

  test('limits the size of a writer’s blobs', async () => {
    const world = new World({ ...OPTIONS, maxBlobBytes: 5000 })
    const writer = await world.writer()
    expect(await failure(writer.commit([{ type: 'run-context', context: 'y'.repeat(6000) }]))).toBe('too-large')
  })

  test('data in a chunk is never taken for a blob reference', async () => {
    const world = new World(OPTIONS)
    const writer = await world.writer()
    await writer.commit([{ type: 'run-context', context: 'secret '.repeat(500) }])
    const { blobs } = (await world.log())[2] as Entry
    const forged = { type: 'tool-output-available', toolCallId: 'c', output: null, blobs, preliminary: true }
    await writer.commit([forged as unknown as Chunk])
    const entry = (await world.log()).at(-2) as Entry
    expect(entry.blobs).toBeUndefined()
    expect((await world.manager.resolve(ID, entry)).chunk).toMatchObject({ output: null })
  })

  test('law 10: the hash of an internal entry’s blob is marked as internal, also when a public entry has the same value', async () => {
    const world = new World(OPTIONS)
    const writer = await world.writer()
    const chunk: Chunk = { type: 'hook-completed', hookId: 'h', hook: 'useStep', result: LARGE }
    await writer.commit([
      { chunk, internal: true },
      { ...chunk, hookId: 'i' },
    ])
    const hashes = (await world.log()).flatMap(({ blobs = {}, internal = false }) =>
      Object.values(blobs).map(({ hash }) => ({ hash, internal })),
    )
    expect(hashes.map(({ internal }) => internal)).toEqual([true, false])
    for (const { hash, internal } of hashes) {
      expect(isPublicBlob(hash)).toBe(!internal)
      expect(JSON.parse(Buffer.from((await world.manager.blob(ID, hash)) ?? '').toString())).toBe(LARGE)
    }
  })

  test('resolving a missing blob throws `absent`', async () => {
    const world = new World(OPTIONS)
    const writer = await world.writer()
    await writer.commit([{ type: 'run-context', context: LARGE }])
    const entry = (await world.log())[2] as Entry
    await world.manager.deleteStream(ID)
    expect(await failure(world.manager.resolve(ID, entry))).toBe('absent')
    const [blob] = Object.values(entry.blobs ?? {})
    expect(await world.manager.blob(ID, blob?.hash ?? '')).toBeUndefined()
  })

  test('stores a blob before the entry that refers to it', async () => {
    const world = new World(OPTIONS)
    const writer = await world.writer()
    const held = world.tap.hold('putBlob')
    const commit = writer.commit([{ type: 'run-context', context: LARGE }])
    await held.arrived
    expect(await world.lines()).toHaveLength(2)
    held.open()
    await commit
    expect(await world.lines()).toHaveLength(4)
  })

  test('the view contains the blob reference of a large value', async () => {
    const world = new World(OPTIONS)
    const writer = await world.writer()
    await writer.commit([
      { type: 'tool-input-available', toolCallId: 'c1', toolName: 't', input: 1 },
      { type: 'tool-output-available', toolCallId: 'c1', output: LARGE },
    ])
    const { view } = await world.manager.view(ID)
    expect(view.messages[0]?.parts[0]).toMatchObject({ output: null, blobs: { '/output': { bytes: 2002 } } })
  })
})

const withoutBlobs = ({ blobs, ...entry }: Entry): Omit<Entry, 'blobs'> => entry
