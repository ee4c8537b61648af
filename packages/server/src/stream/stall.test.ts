// Law 8 for readers: a slow reader costs other readers nothing and holds only a bounded buffer.

import { describe, expect, test } from 'vitest'
import { settled } from '../../../../scripts/clock.ts'
import { Client } from './slow-client.fixture.ts'
import { StreamChannel } from './stream-channel.ts'
import { delta, ID, NOTHING, StreamServer, shownOf, viewOf } from './stream-server.fixture.ts'

const ROOM = 16 * 1024

/** Writes many long deltas as fast as the store accepts them. */
async function flood({ manager }: StreamServer, words: number, runId = 'r1', sessionId = ID): Promise<void> {
  const writer = await manager.createWriter(sessionId, { runId, agentType: 'assistant' })
  for (let i = 0; i < words; i++) await writer.write(delta(`${i} `.padEnd(1000, 'x'), `${i % 3}`)).appended
  await manager.endStream(sessionId)
  await writer.close()
}

describe('law 8: a reader that receives nothing', () => {
  test('is unsubscribed, then closed, and 200 of them hold bounded buffers beside a fast writer', async () => {
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
    // The buffer limit, plus the frame that filled it.
    const largest = 4 * 1024
    for (const { peak } of slow) expect(peak).toBeLessThanOrEqual(ROOM + largest)
    expect(most).toBeLessThanOrEqual(200 * (ROOM + largest))
    // The writer did not wait for them.
    expect(fast.sequences).toEqual((await world.shown()).map(({ sequence }) => sequence))
    expect(fast.peak).toBeLessThanOrEqual(largest)
    // One subscription, for the reader that keeps up.
    expect(world.manager.liveStreamCount).toBe(1)
    await world.clock.advance(stallMs + 1)
    expect(await Promise.all(slow.map(({ closed }) => closed))).toEqual(Array(200).fill('destroyed'))
    expect(world.connections.size).toBe(1)
    fast.leave()
    await settled()
    expect(world.held).toEqual(NOTHING)
  })

  test('gets every entry once when it continues', async () => {
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
    // It is live again.
    await world.said('r2', 'hello')
    await settled()
    expect(client.sequences.at(-1)).toBe((await world.shown()).at(-1)?.sequence)
    expect(world.manager.liveStreamCount).toBe(1)
    client.leave()
    await settled()
    expect(world.held).toEqual(NOTHING)
  })

  test('is not closed while it makes any progress', async () => {
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

  test('is closed even if there is nothing more to send', async () => {
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

  test('is closed even if the stream has ended and the rest is never read', async () => {
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

  test('holds little of a long log: the log is read at the pace of the reader', async () => {
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

describe('several sessions on one connection', () => {
  const open = (client: Client, stage: StreamServer) => new StreamChannel(client, 'sse', stage.settings)

  test('take turns, so that together they buffer no more than a few pages', async () => {
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
    // In the order of arrival.
    expect(done).toEqual(done.toSorted((a, b) => a - b))
  })

  test('are all released when it ends', async () => {
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
