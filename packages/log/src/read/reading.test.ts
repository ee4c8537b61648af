import { getEventListeners } from 'node:events'
import type { Chunk } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import { settled } from '../../../../scripts/clock.ts'
import { approve, ask, delta, failure, ID, World } from '../manager/manager-world.fixture.ts'
import { collect, ended, open, read } from '../manager/reading.fixture.ts'
import type { Reading } from './reading.ts'

describe('law 2: a cursor', () => {
  test('the cursor of every entry, and of the reading, resumes with every later entry exactly once', async () => {
    const world = new World()
    const writer = await world.writer()
    await writer.write(delta('a')).appended
    await writer.commit([ask('a')])
    await world.manager.append(ID, 'ada', approve('a'))
    await world.manager.endStream(ID)
    const log = await world.lines()
    const reading = await open(world)
    expect(reading.cursor).toBeUndefined()
    let count = 0
    for await (const entry of reading) {
      expect(entry.cursor).toBe(reading.cursor)
      expect(await read(world, { after: entry.cursor })).toEqual(log.slice(++count))
    }
    expect(count).toBe(log.length)
    const last = reading.cursor as string
    expect((await open(world, { after: last })).cursor).toBe(last)
  })

  test('the cursor of a merged entry is after all of its parts', async () => {
    const world = new World()
    const writer = await world.writer()
    for (const word of 'abc') {
      writer.write(delta(word))
      writer.lane({ lane: 'x' }).write(delta(word, '2'))
      await writer.flush()
    }
    const reading = (await world.manager.createReader(ID, { merge: true })) as Reading<Chunk>
    const cursors: (number | undefined)[] = []
    for (let i = 0; i < 4; i++) {
      await reading.next()
      cursors.push(reading.cursor === undefined ? undefined : Number.parseInt(reading.cursor, 10))
    }
    await reading.return()
    expect(cursors).toEqual([undefined, undefined, undefined, 8])
  })

  test('createResumableReader never merges entries, whatever the options', async () => {
    const world = new World()
    const writer = await world.writer()
    for (const word of 'abc') {
      writer.write(delta(word))
      await writer.flush()
    }
    await world.manager.endStream(ID)
    expect(await read(world, { merge: true } as object)).toEqual(await world.lines())
  })
})

describe('a closed reader releases everything', () => {
  const watched = async () => {
    const world = new World()
    const writer = await world.writer()
    return { world, writer, reading: await open(world) }
  }

  test('a break closes the reader', async () => {
    const { world, reading } = await watched()
    for await (const _ of reading) break
    expect(world.tap.watches).toBe(0)
  })

  test('an error in the loop body closes the reader', async () => {
    const { world, reading } = await watched()
    const loop = async () => {
      for await (const _ of reading) throw new Error('mine')
    }
    await expect(loop()).rejects.toThrow('mine')
    expect(world.tap.watches).toBe(0)
  })

  test('return closes the reader, also while it waits', async () => {
    const { world, reading } = await watched()
    await reading.next()
    await reading.next()
    const waiting = reading.next()
    await settled()
    expect(await reading.return()).toEqual({ done: true, value: undefined })
    expect(await waiting).toEqual({ done: true, value: undefined })
    expect(await reading.next()).toEqual({ done: true, value: undefined })
    expect(world.tap.watches).toBe(0)
  })

  test('disposal closes the reader', async () => {
    const { world, reading } = await watched()
    await reading.next()
    await reading[Symbol.asyncDispose]()
    expect(world.tap.watches).toBe(0)
  })

  test('its signal closes the reader: before a read, while it waits, and while the store is unavailable', async () => {
    for (const when of ['before', 'waiting', 'asking'] as const) {
      const world = new World()
      await world.writer()
      const abort = new AbortController()
      const reason = new Error('enough')
      if (when === 'before') abort.abort(reason)
      const reading = await open(world, { signal: abort.signal })
      if (when === 'waiting') {
        await reading.next()
        await reading.next()
      }
      if (when === 'asking') world.tap.isDown = true
      const waiting = reading.next()
      waiting.catch(() => {})
      await settled()
      abort.abort(reason)
      await expect(waiting, when).rejects.toBe(reason)
      expect(world.tap.watches, when).toBe(0)
      expect(await reading.next(), when).toEqual({ done: true, value: undefined })
    }
  })

  test('returns no entries that it had read ahead after its signal was aborted', async () => {
    for (const runId of [undefined, 'r1']) {
      const world = new World()
      await ended(world)
      const abort = new AbortController()
      const reason = new Error('enough')
      const reading = await open(world, { signal: abort.signal, ...(runId && { runId }) })
      await reading.next()
      abort.abort(reason)
      await expect(reading.next()).rejects.toBe(reason)
      expect(await reading.next()).toEqual({ done: true, value: undefined })
      expect(world.tap.watches).toBe(0)
    }
  })

  test('a reader without a read holds nothing', async () => {
    const { world } = await watched()
    const { signal } = new AbortController()
    for (let i = 0; i < 20; i++) {
      await open(world, { signal })
      await world.manager.createReader(ID, { signal })
      world.manager.readBatches(ID, { signal })
    }
    expect([getEventListeners(signal, 'abort').length, world.tap.watches]).toEqual([0, 0])
  })

  test('the end of the log and an error close the reader', async () => {
    const { world, reading } = await watched()
    await world.manager.endStream(ID)
    await collect(reading).done
    expect(world.tap.watches).toBe(0)
    expect(await failure((await open(world, { after: 99 })).next())).toBe('truncated')
    expect(world.tap.watches).toBe(0)
  })

  test('close closes a batch reader', async () => {
    const { world } = await watched()
    const reader = world.manager.readBatches(ID)
    await reader.next()
    const waiting = reader.next()
    await settled()
    reader.close()
    reader.close()
    expect(await waiting).toBeUndefined()
    expect(world.tap.watches).toBe(0)
  })

  test('leaves no listener on the signal after it was closed', async () => {
    const { world } = await watched()
    const abort = new AbortController()
    const reading = await open(world, { signal: abort.signal })
    await reading.next()
    await reading.return()
    abort.abort()
    expect(await reading.next()).toEqual({ done: true, value: undefined })
  })
})
