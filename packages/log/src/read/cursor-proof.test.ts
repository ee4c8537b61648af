import { encodeCursor } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import { settled } from '../../../../scripts/clock.ts'
import { failure, ID, thrown, World } from '../manager/manager-world.fixture.ts'
import { collect, ended, open, read } from '../manager/reading.fixture.ts'

describe('a reader from a cursor', () => {
  test('reads the entries after it, by either option name and in either form', async () => {
    const world = new World()
    await ended(world)
    const { cursor } = await world.manager.view(ID, 5)
    const rest = (await read(world)).slice(5)
    expect(rest).toHaveLength(4)
    for (const from of [{ after: 5 }, { fromSequence: 5 }, { after: '5' }, { after: encodeCursor(cursor) }]) {
      expect(await read(world, from)).toEqual(rest)
    }
    expect(await read(world, { after: 9 })).toEqual([])
  })

  test('rejects an invalid cursor', async () => {
    const world = new World()
    await ended(world)
    for (const after of ['', 'x', '-1', '1.2', '5.abc', '5.a.b.c', -1, 1.5, Number.NaN, '9'.repeat(2000)]) {
      expect(await failure(open(world, { after })), String(after).slice(0, 20)).toBe('invalid')
      expect(thrown(() => world.manager.readBatches(ID, { after }))).toBe('invalid')
    }
    expect(await failure(open(world, { fromSequence: -1 }))).toBe('invalid')
    expect(world.tap.watches).toBe(0)
  })

  test('throws the reason if the log does not hold the cursor', async () => {
    const world = new World()
    await ended(world)
    await ended(world, 'r2')
    const { cursor } = await world.manager.view(ID, 5)
    const why = async (after: string | number) => {
      const error = await (await open(world, { after })).next().catch((error: unknown) => error)
      expect(error).toMatchObject({ code: 'truncated', head: 18 })
      return (error as { reason: string }).reason
    }
    expect(await why(19)).toBe('past-head')
    expect(await why(encodeCursor({ ...cursor, epoch: '9-other' }))).toBe('epoch')
    expect(await why(encodeCursor({ ...cursor, incarnation: 'other' }))).toBe('incarnation')
    await world.manager.trimStream(ID, { maxEntries: 8 })
    expect(await why(9)).toBe('below-floor')
    expect(await why(encodeCursor(cursor))).toBe('below-floor')
    expect(await why(0)).toBe('below-floor')
    expect(await read(world, { after: 10 })).toHaveLength(8)
  })

  test('throws for a missing log, unless it reads from the beginning', async () => {
    const world = new World()
    expect(await failure((await open(world, { after: 1 })).next())).toBe('truncated')
    expect(await failure((await open(world, { after: '0.a.b' })).next())).toBe('truncated')
  })
})

describe('a waiting reader', () => {
  const atEnd = async () => {
    const world = new World()
    const writer = await world.writer()
    const reading = await open(world, { follow: true })
    await reading.next()
    await reading.next()
    const waiting = reading.next().catch((error: unknown) => error)
    await settled()
    return { world, writer, waiting }
  }
  const reasonOf = async (waiting: Promise<unknown>) => (await waiting) as { code: string; reason: string }

  test('throws when its log is removed', async () => {
    const { world, waiting } = await atEnd()
    await world.manager.deleteStream(ID)
    expect(await reasonOf(waiting)).toMatchObject({ code: 'truncated', reason: 'incarnation' })
    expect(world.tap.watches).toBe(0)
  })

  test('gets no entry of a new log when its log is removed and created again', async () => {
    const { world, waiting } = await atEnd()
    const held = world.tap.hold('read')
    await world.manager.deleteStream(ID)
    await held.arrived
    await world.writer('stranger')
    held.open()
    expect(await reasonOf(waiting)).toMatchObject({ code: 'truncated', reason: 'incarnation' })
  })

  test('throws when its log is restored from a backup', async () => {
    const { world, waiting } = await atEnd()
    await world.tap.store.restored()
    expect(await reasonOf(waiting)).toMatchObject({ code: 'truncated', reason: 'incarnation' })
  })

  test('continues when its log is trimmed up to its cursor', async () => {
    const world = new World()
    await ended(world)
    const { items } = collect(await open(world, { follow: true }))
    await settled()
    await world.manager.trimStream(ID, { maxEntries: 0 })
    await ended(world, 'r2')
    await settled()
    expect(items).toHaveLength(18)
  })

  test('throws when its empty log is removed', async () => {
    const world = new World()
    await world.manager.createStream(ID)
    const waiting = (await open(world)).next().catch((error: unknown) => error)
    await settled()
    await world.manager.deleteStream(ID)
    expect(await reasonOf(waiting)).toMatchObject({ code: 'truncated' })
  })
})
