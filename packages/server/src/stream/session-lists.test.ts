import { describe, expect, test } from 'vitest'
import { settled } from '../../../../scripts/clock.ts'
import { followList, type ListChange, MAX_LISTED, MAX_WATCHED } from './session-lists.ts'
import { Client } from './slow-client.fixture.ts'
import { delta, NOTHING, StreamServer } from './stream-server.fixture.ts'

const stage = () => new StreamServer({ manager: { coalesceMs: 0 } })

const follow = (world: StreamServer, principal: string | null = null) =>
  world.serve(channel => followList(world.lists, principal, channel), new Client('sse', false))

const changes = (client: Client) => client.wire as unknown as ({ readonly type: 'sessions' } & ListChange)[]
const last = (client: Client) => changes(client).at(-1)

/** The sessions that a client shows if it keeps all it received until they are removed. */
function shown(client: Client): Set<string> {
  const all = new Set<string>()
  for (const { sessions, removed } of changes(client)) {
    for (const { sessionId } of sessions) all.add(sessionId)
    for (const sessionId of removed) all.delete(sessionId)
  }
  return all
}

const actual = async (world: StreamServer, principal: string | null = null) =>
  new Set((await world.lists.page(principal, 1_000)).sessions.map(({ sessionId }) => sessionId))

describe('a followed list', () => {
  test('starts with the existing sessions, most recently updated first', async () => {
    const world = stage()
    const nothing = follow(world)
    await settled()
    expect(changes(nothing)).toEqual([{ type: 'sessions', sessions: [], removed: [] }])
    await world.said('r1', 'one', 'a')
    await world.clock.advance(10)
    await world.said('r1', 'two', 'b')
    await world.clock.advance(1_000)
    const client = follow(world)
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
      const world = stage()
      const manager = where === 'here' ? world.manager : world.process({ coalesceMs: 0 })
      const client = follow(world)
      await settled()
      await manager.createStream('a')
      await world.clock.advance(1_000)
      expect(last(client)?.sessions).toEqual([expect.objectContaining({ sessionId: 'a', sequence: 0 })])
      await manager.append('a', 'ada', { type: 'session-info', title: 'A talk' })
      await world.clock.advance(1_000)
      expect(last(client)?.sessions).toEqual([expect.objectContaining({ sessionId: 'a', title: 'A talk' })])
      const writer = await manager.createWriter('a', { runId: 'r1', agentType: 'assistant' })
      await writer.commit([])
      await world.clock.advance(1_000)
      expect(last(client)?.sessions).toEqual([expect.objectContaining({ sessionId: 'a', status: 'active' })])
      await manager.endStream('a')
      await writer.close()
      await world.clock.advance(1_000)
      expect(last(client)?.sessions).toEqual([expect.objectContaining({ sessionId: 'a', status: 'ended' })])
      await manager.deleteStream('a')
      await world.clock.advance(1_000)
      expect(last(client)).toEqual({ type: 'sessions', sessions: [], removed: ['a'] })
      const count = changes(client).length
      await world.clock.advance(10_000)
      expect(changes(client)).toHaveLength(count)
    },
  )

  test('is per owner, and one refresh serves all followers', async () => {
    const world = stage()
    await world.manager.createStream('of-ada', 'ada')
    await world.manager.createStream('of-bob', 'bob')
    const ada = [follow(world, 'ada'), follow(world, 'ada')]
    const bob = follow(world, 'bob')
    await settled()
    for (const client of ada) expect(last(client)?.sessions.map(({ sessionId }) => sessionId)).toEqual(['of-ada'])
    expect(last(bob)?.sessions.map(({ sessionId }) => sessionId)).toEqual(['of-bob'])
    expect(world.held).toMatchObject({ open: 3, listed: 2, watches: 2 })
    for (const client of [...ada, bob]) client.leave()
    await settled()
    expect(world.held).toEqual(NOTHING)
  })

  test('is not refreshed with each delta of a run', async () => {
    const world = stage()
    const writer = await world.manager.createWriter('a', { runId: 'r1', agentType: 'assistant' })
    await writer.commit([])
    follow(world)
    await settled()
    world.tap.lists = 0
    for (let i = 0; i < 60; i++) {
      await writer.write(delta(`${i} `)).appended
      await world.clock.advance(16)
    }
    expect(world.tap.lists).toBeGreaterThanOrEqual(3)
    expect(world.tap.lists).toBeLessThanOrEqual(6)
    await writer.close()
  })

  test('shows the most recently updated sessions, and does not report the others as removed', async () => {
    const world = stage()
    for (let i = 0; i < MAX_LISTED; i++) {
      await world.manager.createStream(`s${i}`)
      await world.clock.advance(1)
    }
    const client = follow(world)
    await settled()
    expect(last(client)?.sessions).toHaveLength(MAX_LISTED)
    await world.manager.createStream('new')
    await world.clock.advance(1_000)
    expect(last(client)).toMatchObject({ sessions: [{ sessionId: 'new' }], removed: [] })
    await world.manager.deleteStream('s1')
    await world.clock.advance(1_000)
    expect(last(client)).toMatchObject({ removed: ['s1'] })
  })

  test.each(['here', 'elsewhere'])('reports the deletion of every session that it sent, deleted %s', async where => {
    const world = stage()
    const manager = where === 'here' ? world.manager : world.process({ coalesceMs: 0 })
    const client = follow(world, 'ada')
    for (let i = 0; i < 2 * MAX_LISTED; i++) {
      await manager.createStream(`s${i}`, 'ada')
      await world.clock.advance(i % 3 === 0 ? 1_000 : 1)
    }
    await world.clock.advance(1_000)
    const late = follow(world, 'ada')
    for (const i of [0, 7, MAX_LISTED - 1, MAX_LISTED, 2 * MAX_LISTED - 1]) await manager.deleteStream(`s${i}`)
    await world.clock.advance(1_000)
    expect(shown(client)).toEqual(await actual(world, 'ada'))
    expect(shown(client).size).toBe(2 * MAX_LISTED - 5)
    expect([...shown(late)].filter(sessionId => !shown(client).has(sessionId))).toEqual([])
    // A session that now has another owner counts as removed.
    await manager.deleteStream('s1')
    await manager.createStream('s1', 'bob')
    await world.clock.advance(1_000)
    expect(last(client)).toMatchObject({ removed: ['s1'] })
    // All at once, even if few are left.
    for (const sessionId of await actual(world, 'ada')) await manager.deleteStream(sessionId)
    await world.clock.advance(5_000)
    expect(shown(client)).toEqual(new Set())
    for (const each of [client, late]) each.leave()
    await settled()
    expect(world.held).toEqual(NOTHING)
  })

  test('reports all changes between two refreshes, even if they exceed the page size', async () => {
    const world = stage()
    const client = follow(world)
    await settled()
    for (const round of ['a', 'b']) {
      for (let i = 0; i < 3 * MAX_LISTED; i++) {
        await world.manager.createStream(`${round}${i}`)
        if (i % 10 === 0) await world.clock.advance(1)
      }
      await world.clock.advance(1_000)
      expect(shown(client)).toEqual(await actual(world))
    }
    const again = [...(await actual(world))].slice(0, 2 * MAX_LISTED)
    for (const sessionId of again) await world.manager.append(sessionId, 'ada', { type: 'session-info', title: 'New' })
    await world.clock.advance(1_000)
    const named = changes(client).flatMap(({ sessions }) => sessions.filter(({ title }) => title === 'New'))
    expect(new Set(named.map(({ sessionId }) => sessionId))).toEqual(new Set(again))
  })

  test('law 8: watches a limited number of sessions, and checks few at a time', async () => {
    const world = stage()
    const client = follow(world)
    await settled()
    for (let i = 0; i < MAX_WATCHED + 100; i++) {
      await world.manager.createStream(`s${i}`)
      if (i % 40 === 0) await world.clock.advance(1_000)
    }
    await world.clock.advance(1_000)
    expect(shown(client).size).toBe(MAX_WATCHED + 100)
    expect(world.held.watches).toBe(MAX_WATCHED)
    for (let i = 0; i < 500; i++) await world.manager.deleteStream(`s${i + 100}`)
    world.tap.reads = 0
    await world.clock.advance(200)
    expect(world.tap.reads).toBeLessThanOrEqual(2 * MAX_LISTED)
    await world.clock.advance(5_000)
    expect(shown(client)).toEqual(new Set([...(await actual(world))].filter(sessionId => shown(client).has(sessionId))))
    expect(shown(client).size).toBe(MAX_WATCHED - 400)
    client.leave()
    await settled()
    expect(world.held).toEqual(NOTHING)
  })

  test('reports a session created in this process at once', async () => {
    const world = stage()
    const [client, other] = [follow(world, 'ada'), follow(world, 'bob')]
    await world.clock.advance(500)
    await world.manager.createStream('a', 'ada')
    world.lists.sessionCreated('ada')
    await world.clock.advance(0)
    expect(last(client)?.sessions).toEqual([expect.objectContaining({ sessionId: 'a' })])
    expect(changes(other)).toHaveLength(1)
    world.lists.sessionCreated('nobody who follows')
  })

  test('fails recoverably if a refresh fails, and leaves nothing open', async () => {
    const world = new StreamServer({ manager: { patienceMs: 100 } })
    const clients = [follow(world), follow(world)]
    await settled()
    world.tap.isDown = true
    await world.clock.advance(5_000)
    for (const client of clients) {
      expect(await client.closed).toBe('ended')
      expect(client.wire.at(-1)).toMatchObject({
        type: 'fail',
        error: { code: 'store_unavailable' },
        recoverable: true,
      })
    }
    await settled()
    expect(world.held).toEqual(NOTHING)
  })

  test('law 8: a client that reads nothing is closed, and gets the whole list when it reconnects', async () => {
    const world = new StreamServer({ settings: { maxBuffered: 256 }, manager: { coalesceMs: 0 } })
    const client = new Client('sse', false)
    client.isStalled = true
    world.serve(channel => followList(world.lists, null, channel), client)
    await settled()
    for (let i = 0; i < 10; i++) {
      await world.manager.createStream(`s${i}`)
      await world.clock.advance(1_000)
    }
    expect(await client.closed).toBe('destroyed')
    expect(client.peak).toBeLessThan(1_024)
    await settled()
    expect(world.held).toEqual(NOTHING)
  })
})
