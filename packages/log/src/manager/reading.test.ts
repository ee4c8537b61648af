import { describe, expect, test } from 'vitest'
import { settled } from './clock.fixture.ts'
import { collect, open } from './reading.fixture.ts'
import { failure, ID, World } from './world.fixture.ts'

describe('leaving a reader lets everything go', () => {
  const watched = async () => {
    const world = new World()
    const writer = await world.writer()
    return { world, writer, reading: await open(world) }
  }

  test('by a break', async () => {
    const { world, reading } = await watched()
    for await (const _ of reading) break
    expect(world.tap.watches).toBe(0)
  })

  test('by what the body of a loop throws', async () => {
    const { world, reading } = await watched()
    const loop = async () => {
      for await (const _ of reading) throw new Error('mine')
    }
    await expect(loop()).rejects.toThrow('mine')
    expect(world.tap.watches).toBe(0)
  })

  test('by return, also while it waits', async () => {
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

  test('by disposal', async () => {
    const { world, reading } = await watched()
    await reading.next()
    await reading[Symbol.asyncDispose]()
    expect(world.tap.watches).toBe(0)
  })

  test('by its signal, before it reads, while it waits, and while the store is out of reach', async () => {
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

  test('by its end, and by an error', async () => {
    const { world, reading } = await watched()
    await world.manager.endStream(ID)
    await collect(reading).done
    expect(world.tap.watches).toBe(0)
    expect(await failure((await open(world, { after: 99 })).next())).toBe('truncated')
    expect(world.tap.watches).toBe(0)
  })

  test('by close, of batches', async () => {
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

  test('and a signal that is aborted later finds nobody', async () => {
    const { world } = await watched()
    const abort = new AbortController()
    const reading = await open(world, { signal: abort.signal })
    await reading.next()
    await reading.return()
    abort.abort()
    expect(await reading.next()).toEqual({ done: true, value: undefined })
  })
})
