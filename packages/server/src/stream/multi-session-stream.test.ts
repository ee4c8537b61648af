import { describe, expect, test } from 'vitest'
import { settled } from '../../../../scripts/clock.ts'
import { Refusal } from '../errors/refusal.ts'
import type { Services } from '../routing/services.ts'
import { MultiSessionStream } from './multi-session-stream.ts'
import { Client } from './slow-client.fixture.ts'
import { delta, NOTHING, StreamServer, shownOf, viewOf } from './stream-server.fixture.ts'

const stage = (settings = {}) => new StreamServer({ settings, manager: { coalesceMs: 0 } })

/** A client that follows sessions on one connection, each from its start or a position. */
function follow(
  world: StreamServer,
  sessions: Readonly<Record<string, string>>,
  authorize: (sessionId: string) => Promise<void> = async () => {},
  client = new Client(),
): Client {
  const entering = async (): Promise<MultiSessionStream> => {
    const named = Object.entries(sessions).map(async ([sessionId, after]) => {
      return { sessionId, after, identity: await world.identity(sessionId) }
    })
    const asked = { sessions: await Promise.all(named), refused: [] }
    return new MultiSessionStream(world as unknown as Services, asked, { merge: true, whole: false }, authorize)
  }
  const several = entering()
  const recheck = async () => (await several).recheck()
  return world.serve(async channel => (await several).serve(channel), client, { recheck })
}

const of = ({ frames }: Client, sessionId: string) => frames.filter(frame => frame.sessionId === sessionId)

describe('several sessions on one connection', () => {
  test('each frame names its session, and each session has its own replay, position and live end', async () => {
    const world = stage()
    await world.said('r1', 'one', 'a')
    await world.said('r2', 'two', 'b')
    const client = follow(world, { a: '0', b: '2' })
    await settled()
    await world.said('r3', 'three', 'b')
    await world.said('r4', 'four', 'a')
    await settled()
    expect(client.frames.every(({ sessionId }) => sessionId !== undefined)).toBe(true)
    for (const sessionId of ['a', 'b']) {
      const types = of(client, sessionId).map(({ type }) => type)
      expect(types.slice(0, 4)).toEqual(['open', 'entries', 'caught-up', 'status'])
      const { view } = await world.manager.view(sessionId)
      const from = sessionId === 'a' ? 0 : 2
      expect(shownOf(await viewOf(world.manager, client, from, sessionId))).toEqual(shownOf(view))
    }
    const first = client.wire.filter(({ type, after }) => type === 'entries' && after !== undefined)
    expect(first.map(({ sessionId, after }) => ({ sessionId, after }))).toEqual(
      expect.arrayContaining([
        { sessionId: 'a', after: 0 },
        { sessionId: 'b', after: 2 },
      ]),
    )
    expect(first).toHaveLength(2)
    client.leave()
    await settled()
    expect(world.held).toEqual(NOTHING)
  })

  test('an error closes one session only, and the connection ends with the last', async () => {
    const world = stage()
    for (const sessionId of ['a', 'b', 'c']) await world.said('r1', 'one', sessionId)
    const client = follow(world, { a: '99', b: '0', c: '0' })
    await settled()
    expect(of(client, 'a').map(({ type }) => type)).toEqual(['open', 'truncated'])
    await world.manager.deleteStream('b')
    await settled()
    expect(of(client, 'b').at(-1)).toMatchObject({ type: 'fail', error: { code: 'session_unknown' } })
    await world.said('r2', 'two', 'c')
    await settled()
    expect(JSON.stringify(of(client, 'c').at(-1))).toContain('run-finished')
    expect(client.isClosed).toBe(false)
    await world.manager.deleteStream('c')
    expect(await client.closed).toBe('ended')
    await settled()
    expect(world.held).toEqual(NOTHING)
  })

  test('losing access to one session closes only that one, for good', async () => {
    const world = stage({ reauthorizeMs: 5_000 })
    for (const sessionId of ['a', 'b']) await world.said('r1', 'one', sessionId)
    const lost = new Set<string>()
    const client = follow(world, { a: '0', b: '0' }, async sessionId => {
      if (lost.has(sessionId)) throw new Refusal('forbidden', 'not yours any more')
    })
    await world.clock.advance(6_000)
    lost.add('a')
    await world.clock.advance(5_000)
    const error = { code: 'forbidden', message: 'not yours any more', retryable: false }
    expect(of(client, 'a').at(-1)).toEqual({ type: 'fail', sessionId: 'a', error, recoverable: false })
    await world.said('r2', 'secret', 'a')
    await world.said('r2', 'two', 'b')
    await settled()
    expect(client.text).not.toContain('secret')
    expect(client.text).toContain('two')
    expect(world.manager.liveStreamCount).toBe(1)
    lost.add('b')
    await world.clock.advance(5_000)
    expect(await client.closed).toBe('ended')
    await settled()
    expect(world.held).toEqual(NOTHING)
  })

  test('a shutdown is sent once for all sessions', async () => {
    const world = stage()
    for (const sessionId of ['a', 'b']) await world.said('r1', 'one', sessionId)
    const client = follow(world, { a: '0', b: '0' })
    await settled()
    world.connections.drain()
    expect(await client.closed).toBe('ended')
    expect(client.of('fail')).toEqual([expect.objectContaining({ recoverable: true })])
    expect(client.of('fail')[0]?.sessionId).toBeUndefined()
    await settled()
    expect(world.held).toEqual(NOTHING)
  })

  test('law 8: a hundred sessions that catch up hold a few pages, and a long one does not starve the others', async () => {
    const world = stage({ maxBuffered: 16 * 1024 })
    const long = await world.manager.createWriter('long', { runId: 'r1', agentType: 'assistant' })
    for (let i = 0; i < 2_000; i++) await long.write({ type: 'data-page', data: `${i} `.padEnd(1_000, 'x') }).appended
    const names = Array.from({ length: 99 }, (_, i) => `s${i}`)
    for (const sessionId of names) {
      const writer = await world.manager.createWriter(sessionId, { runId: 'r1', agentType: 'assistant' })
      await writer.write(delta('x'.repeat(20_000))).appended
      await writer.close()
    }
    const client = new Client()
    client.isStalled = true
    const sessions = Object.fromEntries(['long', ...names].map(sessionId => [sessionId, '0']))
    follow(world, sessions, undefined, client)
    const isDone = (sessionId: string) => of(client, sessionId).some(({ type }) => type === 'caught-up')
    const until = async (sessions: readonly string[]) => {
      for (let rounds = 0; !sessions.every(isDone); rounds++) {
        await settled()
        client.take()
        if (rounds > 1_000) throw new Error('they wait for ever')
      }
    }
    await until(names)
    // They get their turns between those of the long one.
    expect(isDone('long')).toBe(false)
    await until(['long'])
    // At most two pages, however many wait.
    expect(client.peak).toBeLessThan(1024 * 1024)
    client.leave()
    await long.close()
    await settled()
    expect(world.held).toEqual(NOTHING)
  })
})
