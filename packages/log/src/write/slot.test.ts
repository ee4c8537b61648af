import type { Chunk } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import { delta, failure, thrown, World } from '../manager/manager-world.fixture.ts'

describe('a writer rejects too large values before they get a sequence (law 6)', () => {
  const tooLarge: Chunk = { type: 'status', message: 'x'.repeat(5000) }

  test('rejects a too large chunk, and the next write gets the next sequence', async () => {
    const world = new World({ maxEntryBytes: 4096 })
    const writer = await world.writer()
    expect(thrown(() => writer.write(tooLarge))).toBe('too-large')
    expect(await failure(writer.commit([tooLarge]))).toBe('too-large')
    expect(await failure(writer.decide(() => [tooLarge]))).toBe('too-large')
    expect(await writer.write(delta('a')).appended).toMatchObject({ first: 3, last: 3 })
  })

  test('measures bytes, not characters', async () => {
    const world = new World({ maxEntryBytes: 4096 })
    const writer = await world.writer()
    expect(thrown(() => writer.write({ type: 'status', message: '語'.repeat(2000) }))).toBe('too-large')
    expect(thrown(() => writer.write({ type: 'status', message: 'x'.repeat(2000) }))).toBe('nothing was thrown')
  })

  test('rejects a batch above the store’s limit', async () => {
    const world = new World()
    const writer = await world.writer()
    const large: Chunk = { type: 'state-snapshot', state: 'x'.repeat(1_000_000) }
    expect(await failure(writer.commit(Array(9).fill(large)))).toBe('too-large')
    expect(await world.lines()).toEqual(['run-started', 'checkpoint-created'])
  })

  test('a long delta is split at character boundaries, within the size of an entry', async () => {
    const world = new World({ maxEntryBytes: 4096 })
    const writer = await world.writer()
    const text = '😀語x\u0001'.repeat(3000)
    const written = writer.write(delta(text))
    const { first, last } = (await written.appended) as { first: number; last: number }
    expect(last).toBeGreaterThan(first - 1)
    await writer.flush()
    const log = await world.log()
    const pieces = log.flatMap(({ chunk }) => (chunk.type === 'text-delta' ? chunk.delta : []))
    expect(pieces.join('')).toBe(text)
    expect(pieces.length).toBeGreaterThan(5)
    for (const piece of pieces) expect(piece.isWellFormed()).toBe(true)
    for (const entry of log) expect(Buffer.byteLength(JSON.stringify(entry.chunk))).toBeLessThan(4096)
  })

  test('merged deltas never exceed the size of an entry', async () => {
    const world = new World({ maxEntryBytes: 4096 })
    const writer = await world.writer()
    const held = world.tap.hold('append')
    for (let i = 0; i < 200; i++) writer.write(delta('語'.repeat(50)))
    held.open()
    await writer.flush()
    const log = await world.log()
    const text = log.map(({ chunk }) => (chunk.type === 'text-delta' ? chunk.delta : '')).join('')
    expect(text).toBe('語'.repeat(10_000))
    for (const entry of log) expect(Buffer.byteLength(JSON.stringify(entry))).toBeLessThan(4096)
  })

  test('a delta of a custom type is not split', async () => {
    const world = new World({ maxEntryBytes: 4096 })
    const writer = await world.writer()
    const unknownChunk = { type: 'from-the-future', delta: 'x'.repeat(9000) } as unknown as Chunk
    expect(thrown(() => writer.write(unknownChunk))).toBe('too-large')
  })

  test('lane.fits checks the size of a commit without appending', async () => {
    const bounds = { maxEntryBytes: 4096, blobBytes: 1000, maxBlobBytes: 5000 }
    const world = new World(bounds)
    const writer = await world.writer()
    const tool = writer.lane({ lane: 'tool' })
    const status = (length: number): Chunk => ({ type: 'status', message: 'x'.repeat(length) })
    const output = (length: number): Chunk => {
      return { type: 'tool-output-available', toolCallId: 'c', output: 'x'.repeat(length) }
    }
    const batches: Chunk[][] = [
      [],
      [status(2000)],
      [status(5000)],
      [output(4900)],
      [output(5100)],
      [status(1), output(5100)],
      Array(2500).fill(status(2700)),
      Array(4000).fill(status(2700)),
    ]
    // Around the limit, to the byte.
    for (let length = 3700; length < 4096; length++) batches.push([status(length)])
    const results = batches.map(batch => tool.fits(batch))
    expect(await world.lines()).toEqual(['run-started', 'checkpoint-created'])
    const taken: boolean[] = []
    for (const batch of batches) taken.push((await failure(tool.commit(batch))) !== 'too-large')
    expect(results).toEqual(taken)
    expect(results.slice(0, 8)).toEqual([true, true, false, true, false, false, true, false])
    expect(results.at(8)).toBe(true)
    expect(results.at(-1)).toBe(false)
  })

  test('lane.fits rejects an invalid batch like a commit', async () => {
    const writer = await new World().writer()
    expect(thrown(() => writer.main.fits([{ type: 'text-delta' } as Chunk]))).toBe('invalid')
    await writer.close()
    expect(writer.main.fits([{ type: 'status', message: 'x' }])).toBe(true)
  })

  test('rejects a limit below the minimum when the manager is created', () => {
    for (const maxEntryBytes of [0, 600, Number.NaN]) {
      expect(thrown(() => new World({ maxEntryBytes }))).toBe('invalid')
    }
  })
})
