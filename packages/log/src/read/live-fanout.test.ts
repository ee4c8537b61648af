import { describe, expect, test } from 'vitest'
import { settled } from '../../../../scripts/clock.ts'
import { delta, ID, lineOf, request, World } from '../manager/manager-world.fixture.ts'
import { collect, open } from '../manager/reading.fixture.ts'
import { StreamManager } from '../manager/stream-manager.ts'
import { memoryStore } from '../stores/memory/memory-store.ts'

/** A process whose calls are not held back. */
const elsewhere = (world: World) =>
  new StreamManager({ store: memoryStore(undefined, world.memory), timers: world.clock })

describe('law 2: no wake-up is missed', () => {
  test('by who reads for itself while the tail moves on for others', async () => {
    const world = new World()
    const writer = await world.writer()
    const other = collect(await open(world))
    await settled()
    // It finds nothing after its place, and before it is told so there is something.
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

  test('by who is the first to be caught up, at a place that has been left since', async () => {
    const world = new World()
    const gone = await open(world)
    const waiting = gone.next()
    await settled()
    await world.manager.createStream(ID)
    const reading = await open(world)
    const held = world.tap.hold('read', 'after')
    const late = collect(reading)
    await held.arrived
    // The other one is told, and leaves before it has looked.
    const never = world.tap.hold('read')
    await elsewhere(world).append(ID, 'ada', request('r1'))
    await never.arrived
    await gone.return()
    await waiting
    held.open()
    await settled()
    expect(late.items.map(lineOf)).toEqual(['ada: run-requested'])
    never.open()
  })

  test('by who waits while the tail reads', async () => {
    const world = new World()
    const writer = await world.writer()
    const early = collect(await open(world))
    await settled()
    const held = world.tap.hold('read', 'after')
    await writer.write(delta('a')).appended
    await held.arrived
    // It came too late for that read, and there is more than it saw.
    await writer.write({ type: 'text-end', id: '1' }).appended
    held.open()
    await settled()
    expect(early.items.map(lineOf).slice(2)).toEqual(['text-delta 1 a', 'text-end 1'])
  })
})

describe('law 8: a tail', () => {
  test('of which a reader is behind and nothing is kept lets it read for itself', async () => {
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

  test('costs one read for what several readers wait for, and none for who does not read', async () => {
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
