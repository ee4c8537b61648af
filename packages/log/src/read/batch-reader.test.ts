import { type Chunk, encodeCursor } from '@millrace/protocol'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { settled } from '../../../../scripts/clock.ts'
import { approve, ask, delta, ID, lineOf, request, World } from '../manager/manager-world.fixture.ts'
import { collect, ended, open, read } from '../manager/reading.fixture.ts'
import type { ReadEntry } from '../manager/stream-manager.ts'
import { runs } from '../ticket/ticket-entries.fixture.ts'
import type { Reading } from './reading.ts'

describe('a reader', () => {
  test('reads chunks from the start to the end of the latest run', async () => {
    const world = new World()
    await ended(world, 'r1', 'ab')
    const reading = (await world.manager.createReader(ID)) as Reading<Chunk>
    const { items, done } = collect(reading)
    await done
    expect(items.map(({ type }) => type)).toEqual([
      'run-started',
      'checkpoint-created',
      'data-letter',
      'data-letter',
      'finish',
      'run-finished',
    ])
    expect(reading.status).toBe('ended')
  })

  test('createReader returns null for a missing log, createResumableReader waits for it', async () => {
    const world = new World()
    expect(await world.manager.createReader(ID)).toBeNull()
    const { items, done } = collect(await open(world))
    await settled()
    await ended(world)
    await done
    expect(items).toHaveLength(9)
  })

  test('yields a sequence, a chunk, an origin, a timestamp and a cursor', async () => {
    const world = new World()
    await ended(world)
    const { value } = await (await open(world)).next()
    expect(value).toEqual({
      sequence: 1,
      timestamp: 1_000_000,
      origin: { runId: 'r1', lane: 'main', agentId: 'r1', agentType: 'assistant', step: 0 },
      chunk: { type: 'run-started', program: 'agent:assistant@1' },
      cursor: expect.stringMatching(/^1\.[\w-]+\.[\w-]+$/),
    })
  })

  test('has the status before the first read', async () => {
    const world = new World()
    await world.writer()
    await world.manager.failStream(ID, 'boom')
    expect([(await open(world)).status, (await world.manager.createReader(ID))?.status]).toEqual(['failed', 'failed'])
  })

  test('continues from replay to live, waits while the run is paused, and reports the status', async () => {
    const world = new World()
    const writer = await world.writer()
    const reading = await open(world)
    expect(reading.status).toBe('active')
    const { items, done } = collect(reading)
    await settled()
    expect(items.map(lineOf)).toEqual(['run-started', 'checkpoint-created'])
    expect(reading.status).toBe('active')
    await writer.commit([ask('a')])
    await world.manager.pauseStream(ID)
    await settled()
    expect(reading.status).toBe('paused')
    await world.manager.append(ID, 'ada', approve('a'))
    await settled()
    expect([reading.status, items.length]).toEqual(['paused', 6])
    await world.manager.resumeStream(ID)
    await settled()
    expect(reading.status).toBe('active')
    await world.manager.failStream(ID, 'boom')
    await done
    expect(reading.status).toBe('failed')
    expect(items.map(({ sequence }) => sequence)).toEqual((await world.log()).map(({ sequence }) => sequence))
  })

  test('ends after the latest run, unless it follows', async () => {
    const world = new World()
    await ended(world)
    expect(await read(world)).toHaveLength(9)
    const { items } = collect(await open(world, { follow: true }))
    await settled()
    await ended(world, 'r2')
    await settled()
    expect(items).toHaveLength(18)
  })

  test('returns batches with the range and the cursor of each', async () => {
    const world = new World()
    await ended(world, 'r1', 'abc')
    const reader = world.manager.readBatches(ID, { after: 1 })
    const batch = await reader.next()
    expect(batch).toMatchObject({ after: 1, sequence: 7, isCaughtUp: true })
    expect(batch?.entries.map(({ sequence }) => sequence)).toEqual([2, 3, 4, 5, 6, 7])
    expect(await reader.next()).toBeUndefined()
    expect(await reader.next()).toBeUndefined()
    await ended(world, 'r2', 'd')
    const rest = world.manager.readBatches(ID, { after: batch?.cursor as string })
    expect((await rest.next())?.entries[0]).toMatchObject({ sequence: 8, chunk: { type: 'run-started' } })
  })
})

describe('law 2: every entry exactly once', () => {
  interface Play {
    readonly seed: number
    readonly steps: readonly ('write' | 'batch' | 'tick' | 'join' | 'from' | 'leave' | 'guest' | 'pause')[]
  }

  const plays: fc.Arbitrary<Play> = fc.record({
    seed: fc.integer(),
    steps: fc.array(
      fc.constantFrom('write', 'write', 'batch', 'tick', 'tick', 'join', 'from', 'leave', 'guest', 'pause'),
      { minLength: 5, maxLength: 40, size: 'max' },
    ),
  })

  /** Delays every read by a random number of turns of the event loop. */
  function jitter(world: World, seed: number): void {
    let state = seed | 1
    world.tap.delay = async () => {
      state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff
      for (let i = (state >> 8) % 4; i > 0; i--) await (state % 3 === 0 ? settled() : undefined)
    }
  }

  test('gets every entry once from replay into live, at any interleaving, for any number of readers', async () => {
    let deliveries = 0
    await fc.assert(
      fc.asyncProperty(plays, async ({ seed, steps }) => {
        const world = new World()
        jitter(world, seed)
        const writer = await world.manager.createWriter(ID, { runId: 'r1', agentType: 'assistant' })
        await writer.commit([])
        const readers: { from: number; items: ReadEntry[]; done: Promise<void> }[] = []
        const join = async (from: number, after: string | number | undefined) => {
          readers.push({ from, ...collect(await open(world, after === undefined ? {} : { after })) })
        }
        let count = 0
        let requests = 0
        const guests: Promise<unknown>[] = []
        for (const step of steps) {
          if (step === 'write') writer.write(delta(`${count++}`, `${count % 3}`))
          else if (step === 'batch') void writer.commit([{ type: 'status', message: `${count++}` }])
          else if (step === 'tick') await world.clock.advance(16)
          else if (step === 'pause') await settled()
          else if (step === 'guest') {
            guests.push(world.manager.append(ID, 'ada', request(`q${requests++}`, { whenBusy: 'queue' })))
          } else if (step === 'join') await join(0, undefined)
          else if (step === 'from') await join(writer.cursor.sequence, encodeCursor(writer.cursor))
          else await (await open(world)).return()
        }
        await Promise.all(guests)
        const finished = world.manager.endStream(ID)
        await world.clock.advance(1000)
        await finished
        for (let i = 0; i < 50; i++) await settled()
        await Promise.all(readers.map(({ done }) => done))
        const sequences = (await world.log()).map(({ sequence }) => sequence)
        for (const { from, items } of readers) {
          deliveries += items.length
          expect(items.map(({ sequence }) => sequence)).toEqual(sequences.filter(sequence => sequence > from))
        }
        expect(world.tap.watches).toBe(0)
      }),
      { numRuns: runs(60) },
    )
    expect(deliveries).toBeGreaterThan(500)
  })

  test('gets every entry once with several concurrent calls of next', async () => {
    const world = new World()
    await ended(world)
    const reading = await open(world)
    const results = await Promise.all(Array.from({ length: 12 }, () => reading.next()))
    expect(results.map(({ value }) => value?.sequence)).toEqual([
      1,
      2,
      3,
      4,
      5,
      6,
      7,
      8,
      9,
      undefined,
      undefined,
      undefined,
    ])
  })
})

describe('a reader of one run in a long log', () => {
  const PAST = 4000
  /** Enough for the run's own entries, and one page that verifies the log. */
  const FEW = 50

  /** A run with very many entries, optionally with a discard, followed by a waiting request. */
  async function long(isDiscarded: boolean): Promise<World> {
    const world = new World({ coalesceMs: 0 })
    const writer = await world.writer('r0')
    for (let i = 0; i < PAST / 100; i++) {
      await writer.commit(Array.from({ length: 100 }, (_, n) => ({ type: 'status', message: `${i} ${n}` })))
    }
    await writer.write(delta('draft')).appended
    if (isDiscarded) await writer.main.discard({ reason: 'test' })
    await world.manager.endStream(ID)
    await writer.close()
    await world.manager.append(ID, 'ada', request('r1'))
    return world
  }

  for (const isCut of [false, true]) {
    const title = isCut ? ', also where something in it was taken back' : ''
    test(`reads no entries of other runs, whether the run waits, is open or has ended${title}`, async () => {
      const world = await long(isCut)
      const { head } = (await world.manager.getInfo(ID)) as { head: number }
      world.tap.reset()
      const waiting = collect(await open(world, { after: head, runId: 'r1' }))
      await settled()
      expect(world.tap.entries).toBeLessThan(FEW)
      const writer = await world.writer('r1')
      await writer.write(delta('one')).appended
      await writer.main.discard({ reason: 'again' })
      await writer.write(delta('two')).appended
      world.tap.reset()
      const late = collect(await open(world, { after: head, runId: 'r1' }))
      await settled()
      expect(late.items.map(lineOf)).toEqual(['run-started', 'checkpoint-created', 'text-delta 1 two'])
      expect(world.tap.entries).toBeLessThan(FEW)
      await world.manager.endStream(ID)
      await Promise.all([waiting.done, late.done])
      expect(waiting.items.map(lineOf)).toContain('text-delta 1 one')
      await writer.close()
      await ended(world, 'r2')
      const last = waiting.items.at(-1)?.sequence as number
      world.tap.reset()
      expect((await read(world, { after: head, runId: 'r1' })).at(-1)).toBe('run-finished')
      expect(await read(world, { after: last, runId: 'r1' })).toEqual([])
      expect(world.tap.entries).toBeLessThan(3 * FEW)
    })
  }
})

describe('law 8: readers of one log in one process', () => {
  test('share one watch and one read of what another process appends', async () => {
    const world = new World()
    const other = world.process()
    const writer = await world.writer('r1', other)
    const readers = await Promise.all(Array.from({ length: 50 }, async () => collect(await open(world))))
    await settled()
    expect(world.tap.watches).toBe(1)
    world.tap.reset()
    for (let i = 0; i < 10; i++) {
      await writer.write({ type: 'data-x', data: i }).appended
      await settled()
    }
    expect(world.tap.count('read')).toBe(10)
    for (const { items } of readers) expect(items).toHaveLength(12)
    await other.endStream(ID)
    await Promise.all(readers.map(({ done }) => done))
    expect(world.tap.watches).toBe(0)
  })

  test('a slow reader reads the store itself, and does not delay the others', async () => {
    const world = new World()
    const writer = await world.writer()
    const slow = await open(world)
    const fast = collect(await open(world))
    expect((await slow.next()).value?.sequence).toBe(1)
    const COUNT = 3000
    for (let i = 0; i < COUNT; i++) {
      await writer.write({ type: 'data-x', data: i }).appended
      if (i % 10 === 0) await settled()
    }
    await settled()
    expect(fast.items).toHaveLength(COUNT + 2)
    await world.manager.endStream(ID)
    const rest = collect(slow)
    await rest.done
    expect(rest.items.map(({ sequence }) => sequence)).toEqual(Array.from({ length: COUNT + 3 }, (_, i) => i + 2))
  })

  test('hold no resources before their first read', async () => {
    const world = new World()
    await world.writer()
    await open(world)
    await world.manager.createReader(ID)
    world.manager.readBatches(ID)
    expect(world.tap.watches).toBe(0)
  })
})
