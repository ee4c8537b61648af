// Law 8 for readers: a slow reader costs other readers nothing and holds only a bounded buffer.

import { describe, expect, test } from 'vitest'
import { settled } from '../../../../scripts/clock.ts'
import { SlowClient } from './slow-client.fixture.ts'
import { StreamChannel } from './stream-channel.ts'
import { delta, ID, NO_RESOURCES, StreamServer, shownOf, viewOf } from './stream-server.fixture.ts'

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
    const testServer = new StreamServer({ settings: { maxBufferedBytes: ROOM, stallMs }, manager: { coalesceMs: 0 } })
    await testServer.manager.createStream(ID)
    const slow = Array.from({ length: 200 }, () => testServer.follow())
    const fast = testServer.follow()
    await settled()
    for (const client of slow) client.isStalled = true
    let max = 0
    const measure = () => {
      max = Math.max(
        max,
        slow.reduce((sum, { buffered }) => sum + buffered, 0),
      )
    }
    testServer.instrumented.delay = async () => measure()
    await flood(testServer, 200)
    testServer.instrumented.delay = undefined
    await settled()
    measure()
    const { length } = JSON.stringify(await testServer.log())
    expect(length).toBeGreaterThan(10 * ROOM)
    // The buffer limit, plus the frame that filled it.
    const largest = 4 * 1024
    for (const { peakBytes } of slow) expect(peakBytes).toBeLessThanOrEqual(ROOM + largest)
    expect(max).toBeLessThanOrEqual(200 * (ROOM + largest))
    // The writer did not wait for them.
    expect(fast.sequences).toEqual((await testServer.publicEntries()).map(({ sequence }) => sequence))
    expect(fast.peakBytes).toBeLessThanOrEqual(largest)
    // One subscription, for the reader that keeps up.
    expect(testServer.manager.liveStreamCount).toBe(1)
    await testServer.clock.advance(stallMs + 1)
    expect(await Promise.all(slow.map(({ closed }) => closed))).toEqual(Array(200).fill('destroyed'))
    expect(testServer.connections.size).toBe(1)
    fast.disconnect()
    await settled()
    expect(testServer.resources).toEqual(NO_RESOURCES)
  })

  test('gets every entry once when it continues', async () => {
    const testServer = new StreamServer({ settings: { maxBufferedBytes: ROOM }, manager: { coalesceMs: 0 } })
    await testServer.manager.createStream(ID)
    const client = testServer.follow()
    await settled()
    client.isStalled = true
    await flood(testServer, 100)
    await settled()
    expect(client.buffered).toBeGreaterThanOrEqual(ROOM)
    client.receiveAll()
    await settled()
    const { view } = await testServer.manager.view(ID)
    expect(shownOf(await viewOf(testServer.manager, client))).toEqual(shownOf(view))
    expect(client.of('caught-up')).toHaveLength(1)
    // It is live again.
    await testServer.completeRun('r2', 'hello')
    await settled()
    expect(client.sequences.at(-1)).toBe((await testServer.publicEntries()).at(-1)?.sequence)
    expect(testServer.manager.liveStreamCount).toBe(1)
    client.disconnect()
    await settled()
    expect(testServer.resources).toEqual(NO_RESOURCES)
  })

  test('is not closed while it makes any progress', async () => {
    const stallMs = 1_000
    const testServer = new StreamServer({ settings: { maxBufferedBytes: ROOM, stallMs }, manager: { coalesceMs: 0 } })
    await flood(testServer, 600)
    const client = new SlowClient()
    client.isStalled = true
    testServer.follow({}, client)
    await settled()
    expect(client.buffered).toBeGreaterThan(ROOM)
    expect(client.of('caught-up')).toEqual([])
    for (let i = 0; i < 20; i++) {
      client.receive(10)
      await testServer.clock.advance(stallMs)
    }
    expect(client.isClosed).toBe(false)
    await testServer.clock.advance(stallMs)
    expect(client.isClosed).toBe(true)
    await settled()
    expect(testServer.resources).toEqual(NO_RESOURCES)
  })

  test('is closed even if there is nothing more to send', async () => {
    const stallMs = 1_000
    const testServer = new StreamServer({
      settings: { maxBufferedBytes: ROOM, stallMs, heartbeatMs: 1_000 },
      manager: { coalesceMs: 0 },
    })
    await flood(testServer, 30)
    const client = new SlowClient()
    client.isStalled = true
    testServer.follow({}, client)
    await settled()
    expect(testServer.resources).toMatchObject({ liveStreams: 1, timers: 1 })
    await testServer.clock.advance(3_000)
    expect(await client.closed).toBe('destroyed')
    await settled()
    expect(testServer.resources).toEqual(NO_RESOURCES)
  })

  test('is closed even if the stream has ended and the rest is never read', async () => {
    const stallMs = 1_000
    const testServer = new StreamServer({ settings: { stallMs }, manager: { coalesceMs: 0 } })
    await testServer.completeRun('r1', 'hello')
    const client = new SlowClient()
    client.isStalled = true
    testServer.follow({ isLive: false }, client)
    await settled()
    expect(testServer.resources).toEqual({ ...NO_RESOURCES, connections: 1, timers: 2 })
    await testServer.clock.advance(stallMs)
    expect(await client.closed).toBe('destroyed')
    await settled()
    expect(testServer.resources).toEqual(NO_RESOURCES)
  })

  test('holds little of a long log: the log is read at the pace of the reader', async () => {
    const testServer = new StreamServer({ settings: { maxBufferedBytes: ROOM }, manager: { coalesceMs: 0 } })
    await flood(testServer, 1_500)
    const client = new SlowClient()
    client.isStalled = true
    testServer.follow({ merge: false }, client)
    await settled()
    const { peakBytes } = client
    // A page at a time.
    expect(peakBytes).toBeLessThan(512 * 1024)
    for (let i = 0; i < 20; i++) {
      client.receive()
      await settled()
    }
    expect(client.peakBytes).toBeLessThan(512 * 1024)
    expect(client.sequences).toEqual((await testServer.publicEntries()).map(({ sequence }) => sequence))
  })
})

describe('several sessions on one connection', () => {
  const open = (client: SlowClient, testServer: StreamServer) => new StreamChannel(client, 'sse', testServer.settings)

  test('take turns, so that together they buffer no more than a few pages', async () => {
    const testServer = new StreamServer({ settings: { maxBufferedBytes: ROOM } })
    const client = new SlowClient()
    client.isStalled = true
    const channel = open(client, testServer)
    const done: number[] = []
    let reading = 0
    let max = 0
    const turns = Array.from({ length: 50 }, (_, i) =>
      channel.runWithRoom(async () => {
        max = Math.max(max, ++reading)
        await settled()
        reading--
        channel.write(Buffer.from(`:${'x'.repeat(ROOM)}\n`))
        done.push(i)
      }),
    )
    for (let i = 0; i < 60; i++) {
      await settled()
      await settled()
      client.receive()
    }
    await Promise.all(turns)
    expect(max).toBeLessThanOrEqual(2)
    expect(client.peakBytes).toBeLessThanOrEqual(2 * (ROOM + 2))
    // They are done in the order of arrival.
    expect(done).toEqual(done.toSorted((a, b) => a - b))
  })

  test('are all released when it ends', async () => {
    const testServer = new StreamServer({ settings: { maxBufferedBytes: ROOM } })
    const client = new SlowClient()
    client.isStalled = true
    const channel = open(client, testServer)
    channel.write(Buffer.from(`:${'x'.repeat(ROOM)}\n`))
    const turns = Promise.all([
      channel.runWithRoom(async () => 'done'),
      channel.runWithRoom(async () => 'done'),
      channel.room(),
    ])
    await settled()
    client.disconnect()
    expect(await turns).toEqual([undefined, undefined, false])
    expect(await channel.closed).toBe(false)
    expect(testServer.clock.alarms).toBe(0)
  })
})
