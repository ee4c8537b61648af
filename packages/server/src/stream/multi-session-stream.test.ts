import { describe, expect, test } from 'vitest'
import { settled } from '../../../../scripts/clock.ts'
import { HttpError } from '../errors/http-error.ts'
import type { Services } from '../routing/services.ts'
import { MultiSessionStream } from './multi-session-stream.ts'
import { SlowClient } from './slow-client.fixture.ts'
import { delta, NO_RESOURCES, StreamServer, shownOf, viewOf } from './stream-server.fixture.ts'

const newServer = (settings = {}) => new StreamServer({ settings, manager: { coalesceMs: 0 } })

/** A client that follows sessions on one connection. `sessions` maps each session id to the position to start after. */
function follow(
  testServer: StreamServer,
  sessions: Readonly<Record<string, string>>,
  authorize: (sessionId: string) => Promise<void> = async () => {},
  client = new SlowClient(),
): SlowClient {
  const openStream = async (): Promise<MultiSessionStream> => {
    const followed = Object.entries(sessions).map(async ([sessionId, after]) => {
      return { sessionId, after, identity: await testServer.identity(sessionId) }
    })
    const subscription = { sessions: await Promise.all(followed), refused: [] }
    return new MultiSessionStream(
      testServer as unknown as Services,
      subscription,
      { merge: true, includeDiscarded: false },
      authorize,
    )
  }
  const stream = openStream()
  const recheck = async () => (await stream).recheck()
  return testServer.serve(async channel => (await stream).serve(channel), client, { recheck })
}

const framesOf = ({ frames }: SlowClient, sessionId: string) => frames.filter(frame => frame.sessionId === sessionId)

describe('several sessions on one connection', () => {
  test('each frame names its session, and each session has its own replay, position and live end', async () => {
    const testServer = newServer()
    await testServer.completeRun('r1', 'one', 'a')
    await testServer.completeRun('r2', 'two', 'b')
    const client = follow(testServer, { a: '0', b: '2' })
    await settled()
    await testServer.completeRun('r3', 'three', 'b')
    await testServer.completeRun('r4', 'four', 'a')
    await settled()
    expect(client.frames.every(({ sessionId }) => sessionId !== undefined)).toBe(true)
    for (const sessionId of ['a', 'b']) {
      const types = framesOf(client, sessionId).map(({ type }) => type)
      expect(types.slice(0, 4)).toEqual(['open', 'entries', 'caught-up', 'status'])
      const { view } = await testServer.manager.view(sessionId)
      const from = sessionId === 'a' ? 0 : 2
      expect(shownOf(await viewOf(testServer.manager, client, from, sessionId))).toEqual(shownOf(view))
    }
    const startFrames = client.wire.filter(({ type, after }) => type === 'entries' && after !== undefined)
    expect(startFrames.map(({ sessionId, after }) => ({ sessionId, after }))).toEqual(
      expect.arrayContaining([
        { sessionId: 'a', after: 0 },
        { sessionId: 'b', after: 2 },
      ]),
    )
    expect(startFrames).toHaveLength(2)
    client.disconnect()
    await settled()
    expect(testServer.resources).toEqual(NO_RESOURCES)
  })

  test('an error closes one session only, and the connection ends with its last session', async () => {
    const testServer = newServer()
    for (const sessionId of ['a', 'b', 'c']) await testServer.completeRun('r1', 'one', sessionId)
    const client = follow(testServer, { a: '99', b: '0', c: '0' })
    await settled()
    expect(framesOf(client, 'a').map(({ type }) => type)).toEqual(['open', 'truncated'])
    await testServer.manager.deleteStream('b')
    await settled()
    expect(framesOf(client, 'b').at(-1)).toMatchObject({ type: 'fail', error: { code: 'session_unknown' } })
    await testServer.completeRun('r2', 'two', 'c')
    await settled()
    expect(JSON.stringify(framesOf(client, 'c').at(-1))).toContain('run-finished')
    expect(client.isClosed).toBe(false)
    await testServer.manager.deleteStream('c')
    expect(await client.closed).toBe('ended')
    await settled()
    expect(testServer.resources).toEqual(NO_RESOURCES)
  })

  test('losing access to one session closes only that one, for good', async () => {
    const testServer = newServer({ reauthorizeMs: 5_000 })
    for (const sessionId of ['a', 'b']) await testServer.completeRun('r1', 'one', sessionId)
    const revoked = new Set<string>()
    const client = follow(testServer, { a: '0', b: '0' }, async sessionId => {
      if (revoked.has(sessionId)) throw new HttpError('forbidden', 'access was revoked')
    })
    await testServer.clock.advance(6_000)
    revoked.add('a')
    await testServer.clock.advance(5_000)
    const error = { code: 'forbidden', message: 'access was revoked', retryable: false }
    expect(framesOf(client, 'a').at(-1)).toEqual({ type: 'fail', sessionId: 'a', error, recoverable: false })
    await testServer.completeRun('r2', 'secret', 'a')
    await testServer.completeRun('r2', 'two', 'b')
    await settled()
    expect(client.text).not.toContain('secret')
    expect(client.text).toContain('two')
    expect(testServer.manager.liveStreamCount).toBe(1)
    revoked.add('b')
    await testServer.clock.advance(5_000)
    expect(await client.closed).toBe('ended')
    await settled()
    expect(testServer.resources).toEqual(NO_RESOURCES)
  })

  test('sends one recoverable fail frame for all sessions on shutdown', async () => {
    const testServer = newServer()
    for (const sessionId of ['a', 'b']) await testServer.completeRun('r1', 'one', sessionId)
    const client = follow(testServer, { a: '0', b: '0' })
    await settled()
    testServer.connections.drain()
    expect(await client.closed).toBe('ended')
    expect(client.of('fail')).toEqual([expect.objectContaining({ recoverable: true })])
    expect(client.of('fail')[0]?.sessionId).toBeUndefined()
    await settled()
    expect(testServer.resources).toEqual(NO_RESOURCES)
  })

  test('law 8: a hundred sessions that catch up buffer at most a few pages, and a long one does not starve the others', async () => {
    const testServer = newServer({ maxBufferedBytes: 16 * 1024 })
    const long = await testServer.manager.createWriter('long', { runId: 'r1', agentType: 'assistant' })
    for (let i = 0; i < 2_000; i++) await long.write({ type: 'data-page', data: `${i} `.padEnd(1_000, 'x') }).appended
    const shortSessions = Array.from({ length: 99 }, (_, i) => `s${i}`)
    for (const sessionId of shortSessions) {
      const writer = await testServer.manager.createWriter(sessionId, { runId: 'r1', agentType: 'assistant' })
      await writer.write(delta('x'.repeat(20_000))).appended
      await writer.close()
    }
    const client = new SlowClient()
    client.isStalled = true
    const sessions = Object.fromEntries(['long', ...shortSessions].map(sessionId => [sessionId, '0']))
    follow(testServer, sessions, undefined, client)
    const isCaughtUp = (sessionId: string) => framesOf(client, sessionId).some(({ type }) => type === 'caught-up')
    const untilCaughtUp = async (sessions: readonly string[]) => {
      for (let rounds = 0; !sessions.every(isCaughtUp); rounds++) {
        await settled()
        client.receive()
        if (rounds > 1_000) throw new Error(`still catching up after ${rounds} rounds`)
      }
    }
    await untilCaughtUp(shortSessions)
    // The short sessions get turns between the pages of the long one.
    expect(isCaughtUp('long')).toBe(false)
    await untilCaughtUp(['long'])
    // The connection buffers at most two pages, however many sessions wait.
    expect(client.peakBytes).toBeLessThan(1024 * 1024)
    client.disconnect()
    await long.close()
    await settled()
    expect(testServer.resources).toEqual(NO_RESOURCES)
  })
})
