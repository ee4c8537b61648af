// Law 8 for readers: who is slow costs nobody else anything, and holds no more than there is room for.

import { describe, expect, test } from 'vitest'
import { settled } from '../../../../scripts/clock.ts'
import { Client } from './slow-client.fixture.ts'
import { StreamChannel } from './stream-channel.ts'
import { delta, ID, NOTHING, StreamServer, shownOf, viewOf } from './stream-server.fixture.ts'

const ROOM = 16 * 1024

/** Writes many long words, as fast as the store takes them. */
async function flood({ manager }: StreamServer, words: number, runId = 'r1', sessionId = ID): Promise<void> {
  const writer = await manager.createWriter(sessionId, { runId, agentType: 'assistant' })
  for (let i = 0; i < words; i++) await writer.write(delta(`${i} `.padEnd(1000, 'x'), `${i % 3}`)).appended
  await manager.endStream(sessionId)
  await writer.close()
}

describe('law 8: a reader that takes nothing', () => {
  test('is let go, then closed, and 200 of them hold no more than there is room for while a fast writer writes', async () => {
    const stallMs = 30_000
    const world = new StreamServer({ settings: { maxBuffered: ROOM, stallMs }, manager: { coalesceMs: 0 } })
    await world.manager.createStream(ID)
    const slow = Array.from({ length: 200 }, () => world.follow())
    const fast = world.follow()
    await settled()
    for (const client of slow) client.isStalled = true
    let most = 0
    const measure = () => {
      most = Math.max(
        most,
        slow.reduce((sum, { buffered }) => sum + buffered, 0),
      )
    }
    world.tap.delay = async () => measure()
    await flood(world, 200)
    world.tap.delay = undefined
    await settled()
    measure()
    const { length } = JSON.stringify(await world.log())
    expect(length).toBeGreaterThan(10 * ROOM)
    // What there is room for, and the frame that filled it.
    const largest = 4 * 1024
    for (const { peak } of slow) expect(peak).toBeLessThanOrEqual(ROOM + largest)
    expect(most).toBeLessThanOrEqual(200 * (ROOM + largest))
    // Nobody waited for them.
    expect(fast.sequences).toEqual((await world.shown()).map(({ sequence }) => sequence))
    expect(fast.peak).toBeLessThanOrEqual(largest)
    // One feed, for the one that keeps up.
    expect(world.manager.liveStreamCount).toBe(1)
    await world.clock.advance(stallMs + 1)
    expect(await Promise.all(slow.map(({ closed }) => closed))).toEqual(Array(200).fill('destroyed'))
    expect(world.connections.size).toBe(1)
    fast.leave()
    await settled()
    expect(world.held).toEqual(NOTHING)
  })

  test('gets everything once when it comes to', async () => {
    const world = new StreamServer({ settings: { maxBuffered: ROOM }, manager: { coalesceMs: 0 } })
    await world.manager.createStream(ID)
    const client = world.follow()
    await settled()
    client.isStalled = true
    await flood(world, 100)
    await settled()
    expect(client.buffered).toBeGreaterThanOrEqual(ROOM)
    client.go()
    await settled()
    const { view } = await world.manager.view(ID)
    expect(shownOf(await viewOf(world.manager, client))).toEqual(shownOf(view))
    expect(client.of('caught-up')).toHaveLength(1)
    // It is with the others again.
    await world.said('r2', 'hello')
    await settled()
    expect(client.sequences.at(-1)).toBe((await world.shown()).at(-1)?.sequence)
    expect(world.manager.liveStreamCount).toBe(1)
    client.leave()
    await settled()
    expect(world.held).toEqual(NOTHING)
  })

  test('is not closed as long as it takes something, however little', async () => {
    const stallMs = 1_000
    const world = new StreamServer({ settings: { maxBuffered: ROOM, stallMs }, manager: { coalesceMs: 0 } })
    await flood(world, 600)
    const client = new Client()
    client.isStalled = true
    world.follow({}, client)
    await settled()
    expect(client.buffered).toBeGreaterThan(ROOM)
    expect(client.of('caught-up')).toEqual([])
    for (let i = 0; i < 20; i++) {
      client.take(10)
      await world.clock.advance(stallMs)
    }
    expect(client.isClosed).toBe(false)
    await world.clock.advance(stallMs)
    expect(client.isClosed).toBe(true)
    await settled()
    expect(world.held).toEqual(NOTHING)
  })

  test('is closed also where there is nothing more for it just now', async () => {
    const stallMs = 1_000
    const world = new StreamServer({
      settings: { maxBuffered: ROOM, stallMs, heartbeatMs: 1_000 },
      manager: { coalesceMs: 0 },
    })
    await flood(world, 30)
    const client = new Client()
    client.isStalled = true
    world.follow({}, client)
    await settled()
    expect(world.held).toMatchObject({ fed: 1, alarms: 1 })
    await world.clock.advance(3_000)
    expect(await client.closed).toBe('destroyed')
    await settled()
    expect(world.held).toEqual(NOTHING)
  })

  test('is closed also where all was said, and it never takes the rest', async () => {
    const stallMs = 1_000
    const world = new StreamServer({ settings: { stallMs }, manager: { coalesceMs: 0 } })
    await world.said('r1', 'hello')
    const client = new Client()
    client.isStalled = true
    world.follow({ isLive: false }, client)
    await settled()
    expect(world.held).toEqual({ ...NOTHING, open: 1, alarms: 2 })
    await world.clock.advance(stallMs)
    expect(await client.closed).toBe('destroyed')
    await settled()
    expect(world.held).toEqual(NOTHING)
  })

  test('holds none of a log that is long: it is read as it is taken', async () => {
    const world = new StreamServer({ settings: { maxBuffered: ROOM }, manager: { coalesceMs: 0 } })
    await flood(world, 1_500)
    const client = new Client()
    client.isStalled = true
    world.follow({ merge: false }, client)
    await settled()
    const { peak } = client
    // A page at a time.
    expect(peak).toBeLessThan(512 * 1024)
    for (let i = 0; i < 20; i++) {
      client.take()
      await settled()
    }
    expect(client.peak).toBeLessThan(512 * 1024)
    expect(client.sequences).toEqual((await world.shown()).map(({ sequence }) => sequence))
  })
})

describe('several on one connection', () => {
  const open = (client: Client, stage: StreamServer) => new StreamChannel(client, 'sse', stage.settings)

  test('take turns, so that all of them together fill it no more than a few', async () => {
    const world = new StreamServer({ settings: { maxBuffered: ROOM } })
    const client = new Client()
    client.isStalled = true
    const channel = open(client, world)
    const done: number[] = []
    let reading = 0
    let most = 0
    const turns = Array.from({ length: 50 }, (_, i) =>
      channel.runWithRoom(async () => {
        most = Math.max(most, ++reading)
        await settled()
        reading--
        channel.write(Buffer.from(`:${'x'.repeat(ROOM)}\n`))
        done.push(i)
      }),
    )
    for (let i = 0; i < 60; i++) {
      await settled()
      await settled()
      client.take()
    }
    await Promise.all(turns)
    expect(most).toBeLessThanOrEqual(2)
    expect(client.peak).toBeLessThanOrEqual(2 * (ROOM + 2))
    // In the order in which they came.
    expect(done).toEqual(done.toSorted((a, b) => a - b))
  })

  test('are all let go when it is over', async () => {
    const world = new StreamServer({ settings: { maxBuffered: ROOM } })
    const client = new Client()
    client.isStalled = true
    const channel = open(client, world)
    channel.write(Buffer.from(`:${'x'.repeat(ROOM)}\n`))
    const turns = Promise.all([
      channel.runWithRoom(async () => 'done'),
      channel.runWithRoom(async () => 'done'),
      channel.room(),
    ])
    await settled()
    client.leave()
    expect(await turns).toEqual([undefined, undefined, false])
    expect(await channel.closed).toBe(false)
    expect(world.clock.alarms).toBe(0)
  })
})
