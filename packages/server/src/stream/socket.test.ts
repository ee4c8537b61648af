// Streams over real sockets.

import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { systemTimers } from '@millrace/log'
import { SseDecoder } from '@millrace/protocol'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { settled } from '../../../../scripts/clock.ts'
import { respond } from '../http/node.ts'
import { Follower } from './follower.ts'
import { delta, eventually, ID, NO_RESOURCES, StreamServer, shownOf, viewOf } from './stream-server.fixture.ts'
import type { StreamSettings } from './stream-settings.ts'

/** Starts a server with one session on its own port. `beforeReply` delays each reply. */
async function startServer(
  settings: Partial<StreamSettings>,
  beforeReply: (response: ServerResponse) => Promise<void> = async () => {},
) {
  const testServer = new StreamServer({
    settings: { timers: systemTimers, ...settings },
    manager: { timers: systemTimers, coalesceMs: 0 },
  })
  await testServer.manager.createStream(ID)
  const { manager, connections } = testServer
  const identity = await testServer.identity()
  const how = { isNamed: false, merge: false, includeDiscarded: false, isLive: true, heartbeatMs: 15_000 }
  const options = { sessionId: ID, identity, after: '0', ...how }
  const answer = async (message: IncomingMessage, response: ServerResponse) => {
    await beforeReply(response)
    const serve = (channel: ConstructorParameters<typeof Follower>[1]) => new Follower(manager, channel, options).run()
    respond(
      connections.reply({ format: 'sse', recheck: async () => {}, serve }),
      message,
      response,
      testServer.settings,
    )
  }
  const server = createServer((message, response) => void answer(message, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { testServer, port: (server.address() as AddressInfo).port }
}

/** Connects a client that reads nothing until the test resumes its socket. */
async function connectPaused(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1' })
  socket.on('error', () => {})
  socket.pause()
  await once(socket, 'connect')
  socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
  onTestFinished(() => void socket.destroy())
  return socket
}

/** Reads frames until `isDone` accepts the last 1,000 characters, then disconnects. */
async function read(port: number, isDone: (text: string) => boolean) {
  const frames: Parameters<typeof viewOf>[1]['frames'] = []
  const decoder = new SseDecoder({ onFrame: frame => frames.push(frame) })
  const controller = new AbortController()
  const response = await fetch(`http://127.0.0.1:${port}/`, { signal: controller.signal })
  let tail = ''
  for await (const piece of response.body as ReadableStream<Uint8Array>) {
    decoder.push(piece)
    tail = (tail + new TextDecoder().decode(piece)).slice(-1_000)
    if (isDone(tail)) break
  }
  controller.abort()
  return frames
}

/** Writes more than any kernel buffers for a client that reads nothing. */
async function flood({ manager }: StreamServer): Promise<void> {
  const writer = await manager.createWriter(ID, { runId: 'r1', agentType: 'assistant' })
  for (let i = 0; i < 300; i++) {
    await writer.write({ type: 'data-page', data: `${i} `.padEnd(64 * 1024, 'x') }).appended
    await writer.write(delta(`${i} `)).appended
    // A store in memory answers without yielding to other tasks.
    await settled()
  }
  await manager.endStream(ID)
  await writer.close()
}

const isEnd = (text: string) => text.includes('"run-finished"')

describe('over a socket', () => {
  test('law 8: a client that reads nothing is closed, one that reads gets everything, and nothing is left open', async () => {
    const { testServer, port } = await startServer({ stallMs: 1_000, maxBufferedBytes: 64 * 1024 })
    const stalled = await connectPaused(port)
    const reading = read(port, isEnd)
    await eventually(() => expect(testServer.connections.size).toBe(2))
    await flood(testServer)
    const frames = await reading
    const { view } = await testServer.manager.view(ID)
    expect(shownOf(await viewOf(testServer.manager, { frames }))).toEqual(shownOf(view))
    await eventually(() => expect(testServer.resources).toEqual(NO_RESOURCES))
    // The stalled client’s stream is cut in the middle: a dropped connection never looks like an end (law 7).
    const closed = new Promise(resolve => stalled.once('close', resolve))
    let text = ''
    stalled.setEncoding('utf8').on('data', piece => {
      text = (text + piece).slice(-1_000)
    })
    stalled.resume()
    await closed
    expect(isEnd(text)).toBe(false)
  })

  test('law 2: a client that stops reading for a while gets everything when it continues', async () => {
    const { testServer, port } = await startServer({ maxBufferedBytes: 4 * 1024 })
    const socket = await connectPaused(port)
    await eventually(() => expect(testServer.manager.liveStreamCount).toBe(1))
    await flood(testServer)
    // The client fell behind and left the live subscription.
    await eventually(() => expect(testServer.manager.liveStreamCount).toBe(0))
    let tail = ''
    let length = 0
    const done = new Promise<void>(resolve => {
      socket.setEncoding('utf8').on('data', piece => {
        length += piece.length
        tail = (tail + piece).slice(-1_000)
        if (isEnd(tail)) resolve()
      })
      socket.resume()
    })
    await done
    expect(length).toBeGreaterThan(300 * 64 * 1024)
    expect(length).toBeLessThan(310 * 64 * 1024)
    await eventually(() => expect(testServer.manager.liveStreamCount).toBe(1))
    socket.destroy()
    await eventually(() => expect(testServer.resources).toEqual(NO_RESOURCES))
  })

  test('a client that disconnects before the reply leaves nothing open', async () => {
    const gate = Promise.withResolvers<void>()
    const requested = Promise.withResolvers<void>()
    const disconnected = Promise.withResolvers<void>()
    const { testServer, port } = await startServer({}, async response => {
      response.once('close', disconnected.resolve)
      requested.resolve()
      await gate.promise
    })
    const socket = await connectPaused(port)
    await requested.promise
    const reply = vi.spyOn(testServer.connections, 'reply')
    socket.destroy()
    await disconnected.promise
    gate.resolve()
    await eventually(() => expect(reply).toHaveBeenCalled())
    await eventually(() => expect(testServer.resources).toEqual(NO_RESOURCES))
  })

  test('a server that shuts down tells all clients and closes their connections cleanly', async () => {
    const { testServer, port } = await startServer({})
    const response = await fetch(`http://127.0.0.1:${port}/`)
    await eventually(() => expect(testServer.manager.liveStreamCount).toBe(1))
    testServer.connections.drain()
    expect(await response.text()).toContain('"type":"fail","error":{"code":"draining"')
    await eventually(() => expect(testServer.resources).toEqual(NO_RESOURCES))
  })
})
