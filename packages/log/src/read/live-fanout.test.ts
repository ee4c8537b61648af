import { describe, expect, test } from 'vitest'
import { settled } from '../../../../scripts/clock.ts'
import { delta, ID, lineOf, request, World } from '../manager/manager-world.fixture.ts'
import { collect, open } from '../manager/reading.fixture.ts'
import { StreamManager } from '../manager/stream-manager.ts'
import { memoryStore } from '../stores/memory/memory-store.ts'
import type { LiveSubscriber } from './live-fanout.ts'
import type { ReadBatch } from './read-batch.ts'

/** A process without delays. */
const elsewhere = (world: World) =>
  new StreamManager({ store: memoryStore(undefined, world.memory), timers: world.clock })

describe('law 2: no wake is missed', () => {
  test('a reader that reads the store while the fan-out advances misses no wake', async () => {
    const world = new World()
    const writer = await world.writer()
    const other = collect(await open(world))
    await settled()
    // It finds nothing after its cursor, and an entry is appended before the read returns.
    const reading = await open(world, { after: 2 })
    const held = world.tap.hold('read', 'after')
    const late = collect(reading)
    await held.arrived
    await writer.write(delta('a')).appended
    await settled()
    expect(other.items).toHaveLength(3)
    held.open()
    await settled()
    expect(late.items.map(lineOf)).toEqual(['text-delta 1 a'])
  })

  test('the first reader that catches up, at a cursor that is already outdated, misses no wake', async () => {
    const world = new World()
    const closedReader = await open(world)
    const waiting = closedReader.next()
    await settled()
    await world.manager.createStream(ID)
    const reading = await open(world)
    const held = world.tap.hold('read', 'after')
    const late = collect(reading)
    await held.arrived
    // The other reader is woken, and closes before it has read.
    const never = world.tap.hold('read')
    await elsewhere(world).append(ID, 'ada', request('r1'))
    await never.arrived
    await closedReader.return()
    await waiting
    held.open()
    await settled()
    expect(late.items.map(lineOf)).toEqual(['ada: run-requested'])
    never.open()
  })

  test('a reader that starts to wait while the fan-out reads misses no wake', async () => {
    const world = new World()
    const writer = await world.writer('r1', world.process())
    const early = collect(await open(world))
    await settled()
    const held = world.tap.hold('read', 'after')
    await writer.write(delta('a')).appended
    await held.arrived
    // It is too late for that read, and there is more than it saw.
    await writer.write({ type: 'text-end', id: '1' }).appended
    held.open()
    await settled()
    expect(early.items.map(lineOf).slice(2)).toEqual(['text-delta 1 a', 'text-end 1'])
  })
})

describe('law 2: appends of a writer in this process', () => {
  test('reach readers without a read', async () => {
    const world = new World({ coalesceMs: 0 })
    const writer = await world.writer()
    const reader = collect(await open(world))
    const subscriber = new Subscriber()
    await subscribed(world, subscriber, 2)
    await settled()
    world.tap.reset()
    for (const text of ['a', 'b', 'c']) await writer.write(delta(text)).appended
    await writer.commit([])
    await settled()
    const lines = ['text-delta 1 a', 'text-delta 1 b', 'text-delta 1 c', 'checkpoint-created']
    expect(reader.items.map(lineOf).slice(2)).toEqual(lines)
    expect(subscriber.lines).toEqual(lines)
    expect(world.tap.count('read')).toBe(0)
  })

  test('change the status of readers with the ticket', async () => {
    const world = new World({ coalesceMs: 0 })
    const reader = collect(await open(world))
    const writer = await world.writer()
    await writer.decide(() => [{ type: 'run-finished', status: 'completed' }])
    await reader.done
    expect(reader.items.map(lineOf).at(-1)).toBe('run-finished')
  })

  test.each([true, false])(
    'a guest’s append that follows one in flight reaches readers, heads: %j',
    async namesHeads => {
      const world = new World({ coalesceMs: 0 })
      world.tap.namesHeads = namesHeads
      const writer = await world.writer()
      const reader = collect(await open(world, { follow: true }))
      await settled()
      const held = world.tap.hold('append', 'after')
      const { appended } = writer.write(delta('a'))
      await held.arrived
      await elsewhere(world).append(ID, 'ada', { type: 'session-info', title: 'A' })
      held.open()
      await appended
      await settled()
      expect(reader.items.map(lineOf).slice(2)).toEqual(['text-delta 1 a', 'ada: session-info'])
    },
  )

  test.each([true, false])(
    'and of guests reach readers once and in order, with heads in wake-ups: %j',
    async namesHeads => {
      const world = new World({ coalesceMs: 0 })
      world.tap.namesHeads = namesHeads
      const writer = await world.writer()
      const reader = collect(await open(world, { follow: true }))
      const subscriber = new Subscriber()
      await subscribed(world, subscriber)
      await settled()
      const guest = elsewhere(world)
      for (let i = 0; i < 50; i++) {
        // A guest's append before, during and after one of the writer, which is before or after a read of the fan-out.
        const held = i % 5 === 4 ? world.tap.hold('read', 'after') : undefined
        const late = i % 3 === 0 ? world.tap.hold('append', i % 2 === 0 ? 'after' : 'before') : undefined
        const { appended } = writer.write(delta(`${i}`))
        await late?.arrived
        if (i % 4 > 1) await guest.append(ID, 'ada', { type: 'session-info', title: `${i}` })
        late?.open()
        await appended
        if (i % 7 === 6) await writer.write({ type: 'data-x', data: i }).appended
        held?.open()
      }
      await settled()
      const log = (await world.log()).map(({ sequence }) => sequence)
      expect(reader.items.map(({ sequence }) => sequence)).toEqual(log)
      expect(subscriber.pieces.flatMap(({ entries }) => entries.map(({ sequence }) => sequence))).toEqual(
        log.slice(-subscriber.lines.length),
      )
      expect(subscriber.pieces.at(-1)?.sequence).toBe(log.at(-1))
    },
  )
})

describe('law 8: the fan-out', () => {
  test('lets a reader that is behind its kept batches read the store', async () => {
    const world = new World()
    const writer = await world.writer()
    const slow = await open(world)
    expect((await slow.next()).value?.sequence).toBe(1)
    for (let i = 0; i < 5; i++) await writer.commit([])
    const fast = collect(await open(world))
    await settled()
    expect(fast.items).toHaveLength(7)
    const rest = collect(slow)
    await settled()
    expect(rest.items.map(({ sequence }) => sequence)).toEqual([2, 3, 4, 5, 6, 7])
  })

  test('reads once for several waiting readers, and not at all without one', async () => {
    const world = new World()
    const writer = await world.writer()
    const idle = await open(world)
    await idle.next()
    await idle.next()
    world.tap.reset()
    for (let i = 0; i < 100; i++) await writer.commit([])
    await settled()
    expect(world.tap.count('read')).toBe(0)
    const rest = collect(idle)
    await settled()
    expect(rest.items).toHaveLength(100)
    expect(world.tap.count('read')).toBeLessThanOrEqual(3)
  })
})

/** A subscriber that takes pieces while it has room. */
class Subscriber implements LiveSubscriber {
  readonly pieces: ReadBatch[] = []
  hasRoom = true
  isDropped = false

  deliver(batch: ReadBatch): boolean {
    if (this.hasRoom) this.pieces.push(batch)
    return this.hasRoom
  }

  dropped(): void {
    this.isDropped = true
  }

  get lines(): string[] {
    return this.pieces.flatMap(({ entries }) => entries.map(lineOf))
  }
}

/** Subscribes a reader that has read everything after a cursor. */
async function subscribed(world: World, subscriber: Subscriber, after: string | number = 0) {
  const reader = world.manager.readBatches(ID, { after, follow: true })
  while (!reader.isCaughtUp) await reader.nextAvailable()
  return reader.subscribe(subscriber)
}

describe('subscribers', () => {
  test('get the same piece, after one read for all of them', async () => {
    const world = new World({ coalesceMs: 0 })
    const writer = await world.writer()
    const subscribers = Array.from({ length: 20 }, () => new Subscriber())
    for (const subscriber of subscribers) expect(await subscribed(world, subscriber)).toBeTypeOf('function')
    expect(world.manager.liveStreamCount).toBe(1)
    world.tap.reset()
    for (const text of ['a', 'b', 'c']) await writer.write(delta(text)).appended
    await settled()
    expect(world.tap.count('read')).toBeLessThanOrEqual(3)
    for (const subscriber of subscribers) {
      expect(subscriber.lines).toEqual(['text-delta 1 a', 'text-delta 1 b', 'text-delta 1 c'])
      expect(subscriber.pieces.every((batch, i) => batch === subscribers[0]?.pieces[i])).toBe(true)
    }
  })

  test('a subscriber without room is dropped alone, and reads on from its last piece without a gap', async () => {
    const world = new World({ coalesceMs: 0 })
    const writer = await world.writer()
    const [fast, slow] = [new Subscriber(), new Subscriber()]
    await subscribed(world, fast)
    await subscribed(world, slow)
    await writer.write(delta('a')).appended
    await settled()
    slow.hasRoom = false
    for (const text of ['b', 'c']) await writer.write(delta(text)).appended
    await settled()
    expect([slow.isDropped, slow.lines]).toEqual([true, ['text-delta 1 a']])
    expect([fast.isDropped, fast.lines.length]).toEqual([false, 3])
    const reading = world.manager.readBatches(ID, { after: slow.pieces.at(-1)?.cursor as string, follow: true })
    const missed = await reading.nextAvailable()
    expect(missed?.entries.map(lineOf)).toEqual(['text-delta 1 b', 'text-delta 1 c'])
    const again = new Subscriber()
    expect(reading.subscribe(again)).toBeTypeOf('function')
    await writer.write(delta('d')).appended
    await settled()
    expect([again.lines, fast.lines.at(-1)]).toEqual([['text-delta 1 d'], 'text-delta 1 d'])
  })

  test('a subscriber that throws is dropped alone, and no other reader gets the error', async () => {
    const world = new World({ coalesceMs: 0 })
    const writer = await world.writer()
    const [healthy, broken] = [new Subscriber(), new Subscriber()]
    broken.deliver = () => {
      throw new Error('broken')
    }
    await subscribed(world, broken)
    await subscribed(world, healthy)
    const reader = world.manager.readBatches(ID, { after: 0, follow: true })
    while (!reader.isCaughtUp) await reader.nextAvailable()
    const next = reader.next()
    await writer.write(delta('a')).appended
    expect((await next)?.entries.map(lineOf)).toEqual(['text-delta 1 a'])
    await settled()
    expect([broken.isDropped, healthy.isDropped, healthy.lines]).toEqual([true, false, ['text-delta 1 a']])
    reader.close()
  })

  test('miss nothing that was appended between the last read and the subscription', async () => {
    const world = new World({ coalesceMs: 0 })
    const writer = await world.writer()
    const reader = world.manager.readBatches(ID, { after: 0, follow: true })
    while (!reader.isCaughtUp) await reader.nextAvailable()
    await writer.write(delta('a')).appended
    const subscriber = new Subscriber()
    expect(reader.subscribe(subscriber)).toBeTypeOf('function')
    await settled()
    expect(subscriber.lines).toEqual(['text-delta 1 a'])
  })

  test('law 10: get no internal entries', async () => {
    const world = new World({ coalesceMs: 0 })
    const writer = await world.writer()
    const subscriber = new Subscriber()
    await subscribed(world, subscriber)
    await writer.write(delta('a')).appended
    await writer.commit([{ chunk: { type: 'data-secret', data: 1 }, internal: true }])
    await settled()
    expect(subscriber.lines.some(line => line.includes('secret'))).toBe(false)
    expect(subscriber.lines[0]).toBe('text-delta 1 a')
    expect(subscriber.pieces.at(-1)?.sequence).toBe((await world.log()).at(-1)?.sequence)
  })

  test.each(['deleted', 'restored'])('are dropped when their log is %s', async change => {
    const world = new World({ coalesceMs: 0 })
    await world.writer()
    const subscribers = [new Subscriber(), new Subscriber()]
    for (const subscriber of subscribers) await subscribed(world, subscriber)
    if (change === 'deleted') await world.manager.deleteStream(ID)
    else await world.tap.store.restored()
    await settled()
    expect(subscribers.map(({ isDropped }) => isDropped)).toEqual([true, true])
    expect(world.manager.liveStreamCount).toBe(0)
  })

  test('an unsubscribed subscriber gets nothing more, and the last one stops the watch', async () => {
    const world = new World({ coalesceMs: 0 })
    const writer = await world.writer()
    const subscribers = [new Subscriber(), new Subscriber()]
    const leave = await Promise.all(subscribers.map(subscriber => subscribed(world, subscriber)))
    leave[0]?.()
    await writer.write(delta('a')).appended
    await settled()
    expect(subscribers.map(({ lines }) => lines.length)).toEqual([0, 1])
    leave[1]?.()
    expect([world.tap.watches, world.manager.liveStreamCount]).toEqual([0, 0])
    expect(subscribers.map(({ isDropped }) => isDropped)).toEqual([false, false])
  })

  test.each([
    ['of one run', { runId: 'r1' }],
    ['of internal entries', { internal: true }],
    ['that throws on a discard', { onRetraction: 'throw' as const }],
  ])('are refused for a reader %s, and for a reader that is behind', async (_, options) => {
    const world = new World({ coalesceMs: 0 })
    await world.writer()
    const reader = world.manager.readBatches(ID, { after: 0, follow: true, ...options })
    while (!reader.isCaughtUp) await reader.nextAvailable()
    expect(reader.subscribe(new Subscriber())).toBeUndefined()
    const behind = world.manager.readBatches(ID, { after: 0, follow: true })
    expect(behind.subscribe(new Subscriber())).toBeUndefined()
    reader.close()
    behind.close()
  })
})
