// Streams over real sockets: what the network does to them.

import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { systemTimers } from '@millrace/log'
import { SseDecoder } from '@millrace/protocol'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { settled } from '../../../../scripts/clock.ts'
import { respond } from '../http/node.ts'
import { Follower } from './follower.ts'
import { delta, eventually, ID, NOTHING, StreamServer, shownOf, viewOf } from './stream-server.fixture.ts'
import type { StreamSettings } from './stream-settings.ts'

/** A server of one session, on a port of its own. */
async function listening(
  settings: Partial<StreamSettings>,
  before: (response: ServerResponse) => Promise<void> = async () => {},
) {
  const stage = new StreamServer({
    settings: { timers: systemTimers, ...settings },
    manager: { timers: systemTimers, coalesceMs: 0 },
  })
  await stage.manager.createStream(ID)
  const { manager, connections } = stage
  const identity = await stage.identity()
  const how = { isNamed: false, merge: false, whole: false, isLive: true, heartbeatMs: 15_000 }
  const options = { sessionId: ID, identity, after: '0', ...how }
  const answer = async (message: IncomingMessage, response: ServerResponse) => {
    await before(response)
    const serve = (channel: ConstructorParameters<typeof Follower>[1]) => new Follower(manager, channel, options).run()
    respond(connections.reply({ format: 'sse', recheck: async () => {}, serve }), message, response, stage.settings)
  }
  const server = createServer((message, response) => void answer(message, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { stage, port: (server.address() as AddressInfo).port }
}

/** A client that reads only what it is told to. */
async function connected(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1' })
  socket.on('error', () => {})
  socket.pause()
  await once(socket, 'connect')
  socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
  onTestFinished(() => void socket.destroy())
  return socket
}

/** Reads all there is, until a session is at some sequence. */
async function read(port: number, isDone: (text: string) => boolean) {
  const frames: Parameters<typeof viewOf>[1]['frames'] = []
  const decoder = new SseDecoder({ onFrame: frame => frames.push(frame) })
  const left = new AbortController()
  const response = await fetch(`http://127.0.0.1:${port}/`, { signal: left.signal })
  let tail = ''
  for await (const piece of response.body as ReadableStream<Uint8Array>) {
    decoder.push(piece)
    tail = (tail + new TextDecoder().decode(piece)).slice(-1_000)
    if (isDone(tail)) break
  }
  left.abort()
  return frames
}

/** More than any kernel keeps for who reads nothing. */
async function flood({ manager }: StreamServer): Promise<void> {
  const writer = await manager.createWriter(ID, { runId: 'r1', agentType: 'assistant' })
  for (let i = 0; i < 300; i++) {
    await writer.write({ type: 'data-page', data: `${i} `.padEnd(64 * 1024, 'x') }).appended
    await writer.write(delta(`${i} `)).appended
    // Nobody else has a turn while a store in memory answers at once.
    await settled()
  }
  await manager.endStream(ID)
  await writer.close()
}

const isEnd = (text: string) => text.includes('"run-finished"')

describe('over a socket', () => {
  test('law 8: who reads nothing is closed, who reads gets all, and nothing is left', async () => {
    const { stage, port } = await listening({ stallMs: 1_000, maxBuffered: 64 * 1024 })
    const stalled = await connected(port)
    const reading = read(port, isEnd)
    await eventually(() => expect(stage.connections.size).toBe(2))
    await flood(stage)
    const frames = await reading
    const { view } = await stage.manager.view(ID)
    expect(shownOf(await viewOf(stage.manager, { frames }))).toEqual(shownOf(view))
    await eventually(() => expect(stage.held).toEqual(NOTHING))
    // It is cut off in the midst, and a drop is never an end (law 7).
    const closed = new Promise(resolve => stalled.once('close', resolve))
    let text = ''
    stalled.setEncoding('utf8').on('data', piece => {
      text = (text + piece).slice(-1_000)
    })
    stalled.resume()
    await closed
    expect(isEnd(text)).toBe(false)
  })

  test('law 2: who stops reading for a while gets all of it once it goes on', async () => {
    const { stage, port } = await listening({ maxBuffered: 4 * 1024 })
    const socket = await connected(port)
    await eventually(() => expect(stage.manager.liveStreamCount).toBe(1))
    await flood(stage)
    // It fell behind, and nobody feeds it.
    await eventually(() => expect(stage.manager.liveStreamCount).toBe(0))
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
    await eventually(() => expect(stage.manager.liveStreamCount).toBe(1))
    socket.destroy()
    await eventually(() => expect(stage.held).toEqual(NOTHING))
  })

  test('who leaves before the reply begins holds nothing', async () => {
    const gate = Promise.withResolvers<void>()
    const asked = Promise.withResolvers<void>()
    const gone = Promise.withResolvers<void>()
    const { stage, port } = await listening({}, async response => {
      response.once('close', gone.resolve)
      asked.resolve()
      await gate.promise
    })
    const socket = await connected(port)
    await asked.promise
    const reply = vi.spyOn(stage.connections, 'reply')
    socket.destroy()
    await gone.promise
    gate.resolve()
    await eventually(() => expect(reply).toHaveBeenCalled())
    await eventually(() => expect(stage.held).toEqual(NOTHING))
  })

  test('a server that goes says so to all, and the connection is closed in good order', async () => {
    const { stage, port } = await listening({})
    const response = await fetch(`http://127.0.0.1:${port}/`)
    await eventually(() => expect(stage.manager.liveStreamCount).toBe(1))
    stage.connections.drain()
    expect(await response.text()).toContain('"type":"fail","error":{"code":"draining"')
    await eventually(() => expect(stage.held).toEqual(NOTHING))
  })
})
