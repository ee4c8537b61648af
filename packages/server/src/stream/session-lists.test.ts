import { describe, expect, test } from 'vitest'
import { settled } from '../../../../scripts/clock.ts'
import { followList, type ListChange, MAX_LISTED, MAX_WATCHED } from './session-lists.ts'
import { SlowClient } from './slow-client.fixture.ts'
import { delta, NO_RESOURCES, StreamServer } from './stream-server.fixture.ts'

const newServer = () => new StreamServer({ manager: { coalesceMs: 0 } })

const follow = (testServer: StreamServer, principal: string | null = null) =>
  testServer.serve(channel => followList(testServer.lists, principal, channel), new SlowClient('sse', false))

const changes = (client: SlowClient) => client.wire as unknown as ({ readonly type: 'sessions' } & ListChange)[]
const last = (client: SlowClient) => changes(client).at(-1)

/** The sessions that a client shows if it keeps all it received until they are removed. */
function shown(client: SlowClient): Set<string> {
  const all = new Set<string>()
  for (const { sessions, removed } of changes(client)) {
    for (const { sessionId } of sessions) all.add(sessionId)
    for (const sessionId of removed) all.delete(sessionId)
  }
  return all
}

const actual = async (testServer: StreamServer, principal: string | null = null) =>
  new Set((await testServer.lists.page(principal, 1_000)).sessions.map(({ sessionId }) => sessionId))

describe('a followed list', () => {
  test('starts with the existing sessions, most recently updated first', async () => {
    const testServer = newServer()
    const nothing = follow(testServer)
    await settled()
    expect(changes(nothing)).toEqual([{ type: 'sessions', sessions: [], removed: [] }])
    await testServer.completeRun('r1', 'one', 'a')
    await testServer.clock.advance(10)
    await testServer.completeRun('r1', 'two', 'b')
    await testServer.clock.advance(1_000)
    const client = follow(testServer)
    await settled()
    expect(changes(client)).toHaveLength(1)
    expect(last(client)?.sessions).toEqual([
      expect.objectContaining({ sessionId: 'b', status: 'ended' }),
      expect.objectContaining({ sessionId: 'a', status: 'ended' }),
    ])
  })

  test.each(['here', 'elsewhere'])(
    'reports sessions that are created, renamed, started, ended and deleted %s',
    async where => {
      const testServer = newServer()
      const manager = where === 'here' ? testServer.manager : testServer.otherManager({ coalesceMs: 0 })
      const client = follow(testServer)
      await settled()
      await manager.createStream('a')
      await testServer.clock.advance(1_000)
      expect(last(client)?.sessions).toEqual([expect.objectContaining({ sessionId: 'a', sequence: 0 })])
      await manager.append('a', 'ada', { type: 'session-info', title: 'A talk' })
      await testServer.clock.advance(1_000)
      expect(last(client)?.sessions).toEqual([expect.objectContaining({ sessionId: 'a', title: 'A talk' })])
      const writer = await manager.createWriter('a', { runId: 'r1', agentType: 'assistant' })
      await writer.commit([])
      await testServer.clock.advance(1_000)
      expect(last(client)?.sessions).toEqual([expect.objectContaining({ sessionId: 'a', status: 'active' })])
      await manager.endStream('a')
      await writer.close()
      await testServer.clock.advance(1_000)
      expect(last(client)?.sessions).toEqual([expect.objectContaining({ sessionId: 'a', status: 'ended' })])
      await manager.deleteStream('a')
      await testServer.clock.advance(1_000)
      expect(last(client)).toEqual({ type: 'sessions', sessions: [], removed: ['a'] })
      const count = changes(client).length
      await testServer.clock.advance(10_000)
      expect(changes(client)).toHaveLength(count)
    },
  )

  test('is per owner, and one refresh serves all followers', async () => {
    const testServer = newServer()
    await testServer.manager.createStream('of-ada', 'ada')
    await testServer.manager.createStream('of-bob', 'bob')
    const ada = [follow(testServer, 'ada'), follow(testServer, 'ada')]
    const bob = follow(testServer, 'bob')
    await settled()
    for (const client of ada) expect(last(client)?.sessions.map(({ sessionId }) => sessionId)).toEqual(['of-ada'])
    expect(last(bob)?.sessions.map(({ sessionId }) => sessionId)).toEqual(['of-bob'])
    expect(testServer.resources).toMatchObject({ connections: 3, lists: 2, watches: 2 })
    for (const client of [...ada, bob]) client.disconnect()
    await settled()
    expect(testServer.resources).toEqual(NO_RESOURCES)
  })

  test('is not refreshed with each delta of a run', async () => {
    const testServer = newServer()
    const writer = await testServer.manager.createWriter('a', { runId: 'r1', agentType: 'assistant' })
    await writer.commit([])
    follow(testServer)
    await settled()
    testServer.instrumented.lists = 0
    for (let i = 0; i < 60; i++) {
      await writer.write(delta(`${i} `)).appended
      await testServer.clock.advance(16)
    }
    expect(testServer.instrumented.lists).toBeGreaterThanOrEqual(3)
    expect(testServer.instrumented.lists).toBeLessThanOrEqual(6)
    await writer.close()
  })

  test('shows the most recently updated sessions, and does not report the others as removed', async () => {
    const testServer = newServer()
    for (let i = 0; i < MAX_LISTED; i++) {
      await testServer.manager.createStream(`s${i}`)
      await testServer.clock.advance(1)
    }
    const client = follow(testServer)
    await settled()
    expect(last(client)?.sessions).toHaveLength(MAX_LISTED)
    await testServer.manager.createStream('new')
    await testServer.clock.advance(1_000)
    expect(last(client)).toMatchObject({ sessions: [{ sessionId: 'new' }], removed: [] })
    await testServer.manager.deleteStream('s1')
    await testServer.clock.advance(1_000)
    expect(last(client)).toMatchObject({ removed: ['s1'] })
  })

  test.each(['here', 'elsewhere'])('reports the deletion of every session that it sent, deleted %s', async where => {
    const testServer = newServer()
    const manager = where === 'here' ? testServer.manager : testServer.otherManager({ coalesceMs: 0 })
    const client = follow(testServer, 'ada')
    for (let i = 0; i < 2 * MAX_LISTED; i++) {
      await manager.createStream(`s${i}`, 'ada')
      await testServer.clock.advance(i % 3 === 0 ? 1_000 : 1)
    }
    await testServer.clock.advance(1_000)
    const late = follow(testServer, 'ada')
    for (const i of [0, 7, MAX_LISTED - 1, MAX_LISTED, 2 * MAX_LISTED - 1]) await manager.deleteStream(`s${i}`)
    await testServer.clock.advance(1_000)
    expect(shown(client)).toEqual(await actual(testServer, 'ada'))
    expect(shown(client).size).toBe(2 * MAX_LISTED - 5)
    expect([...shown(late)].filter(sessionId => !shown(client).has(sessionId))).toEqual([])
    // A session that now has another owner counts as removed.
    await manager.deleteStream('s1')
    await manager.createStream('s1', 'bob')
    await testServer.clock.advance(1_000)
    expect(last(client)).toMatchObject({ removed: ['s1'] })
    // All at once, even if few are left.
    for (const sessionId of await actual(testServer, 'ada')) await manager.deleteStream(sessionId)
    await testServer.clock.advance(5_000)
    expect(shown(client)).toEqual(new Set())
    for (const each of [client, late]) each.disconnect()
    await settled()
    expect(testServer.resources).toEqual(NO_RESOURCES)
  })

  test('reports all changes between two refreshes, even if they exceed the page size', async () => {
    const testServer = newServer()
    const client = follow(testServer)
    await settled()
    for (const round of ['a', 'b']) {
      for (let i = 0; i < 3 * MAX_LISTED; i++) {
        await testServer.manager.createStream(`${round}${i}`)
        if (i % 10 === 0) await testServer.clock.advance(1)
      }
      await testServer.clock.advance(1_000)
      expect(shown(client)).toEqual(await actual(testServer))
    }
    const again = [...(await actual(testServer))].slice(0, 2 * MAX_LISTED)
    for (const sessionId of again)
      await testServer.manager.append(sessionId, 'ada', { type: 'session-info', title: 'New' })
    await testServer.clock.advance(1_000)
    const named = changes(client).flatMap(({ sessions }) => sessions.filter(({ title }) => title === 'New'))
    expect(new Set(named.map(({ sessionId }) => sessionId))).toEqual(new Set(again))
  })

  test('law 8: watches a limited number of sessions, and checks few at a time', async () => {
    const testServer = newServer()
    const client = follow(testServer)
    await settled()
    for (let i = 0; i < MAX_WATCHED + 100; i++) {
      await testServer.manager.createStream(`s${i}`)
      if (i % 40 === 0) await testServer.clock.advance(1_000)
    }
    await testServer.clock.advance(1_000)
    expect(shown(client).size).toBe(MAX_WATCHED + 100)
    expect(testServer.resources.watches).toBe(MAX_WATCHED)
    for (let i = 0; i < 500; i++) await testServer.manager.deleteStream(`s${i + 100}`)
    testServer.instrumented.reads = 0
    await testServer.clock.advance(200)
    expect(testServer.instrumented.reads).toBeLessThanOrEqual(2 * MAX_LISTED)
    await testServer.clock.advance(5_000)
    expect(shown(client)).toEqual(
      new Set([...(await actual(testServer))].filter(sessionId => shown(client).has(sessionId))),
    )
    expect(shown(client).size).toBe(MAX_WATCHED - 400)
    client.disconnect()
    await settled()
    expect(testServer.resources).toEqual(NO_RESOURCES)
  })

  test('reports a session created in this process at once', async () => {
    const testServer = newServer()
    const [client, other] = [follow(testServer, 'ada'), follow(testServer, 'bob')]
    await testServer.clock.advance(500)
    await testServer.manager.createStream('a', 'ada')
    testServer.lists.sessionCreated('ada')
    await testServer.clock.advance(0)
    expect(last(client)?.sessions).toEqual([expect.objectContaining({ sessionId: 'a' })])
    expect(changes(other)).toHaveLength(1)
    testServer.lists.sessionCreated('nobody who follows')
  })

  test('fails recoverably if a refresh fails, and leaves nothing open', async () => {
    const testServer = new StreamServer({ manager: { retryTimeoutMs: 100 } })
    const clients = [follow(testServer), follow(testServer)]
    await settled()
    testServer.instrumented.isDown = true
    await testServer.clock.advance(5_000)
    for (const client of clients) {
      expect(await client.closed).toBe('ended')
      expect(client.wire.at(-1)).toMatchObject({
        type: 'fail',
        error: { code: 'store_unavailable' },
        recoverable: true,
      })
    }
    await settled()
    expect(testServer.resources).toEqual(NO_RESOURCES)
  })

  test('law 8: closes a client that reads nothing, which gets the full list when it reconnects', async () => {
    const testServer = new StreamServer({ settings: { maxBufferedBytes: 256 }, manager: { coalesceMs: 0 } })
    const client = new SlowClient('sse', false)
    client.isStalled = true
    testServer.serve(channel => followList(testServer.lists, null, channel), client)
    await settled()
    for (let i = 0; i < 10; i++) {
      await testServer.manager.createStream(`s${i}`)
      await testServer.clock.advance(1_000)
    }
    expect(await client.closed).toBe('destroyed')
    expect(client.peakBytes).toBeLessThan(1_024)
    await settled()
    expect(testServer.resources).toEqual(NO_RESOURCES)
  })
})
