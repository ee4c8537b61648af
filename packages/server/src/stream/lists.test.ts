import { describe, expect, test } from 'vitest'
import { Client } from './client.fixture.ts'
import { settled } from './clock.fixture.ts'
import { followList } from './list-frames.ts'
import { FOLLOWED, type ListChange } from './lists.ts'
import { delta, NOTHING, Stage } from './stage.fixture.ts'

const stage = () => new Stage({ manager: { coalesceMs: 0 } })

const follow = (world: Stage, principal: string | null = null) =>
  world.serve(outlet => followList(world.lists, principal, outlet), new Client('sse', false))

const changes = (client: Client) => client.wire as unknown as ({ readonly type: 'sessions' } & ListChange)[]
const last = (client: Client) => changes(client).at(-1)

describe('a list that is followed', () => {
  test('begins with what there is, those touched last first', async () => {
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

  test.each(['here', 'elsewhere'])('tells what is made, named, started, ended and deleted %s', async where => {
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
  })

  test('is one’s own, and one look serves all who follow it', async () => {
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

  test('does not look at each word of a run', async () => {
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

  test('shows those touched last, and does not call the others removed', async () => {
    const world = stage()
    for (let i = 0; i < FOLLOWED; i++) {
      await world.manager.createStream(`s${i}`)
      await world.clock.advance(1)
    }
    const client = follow(world)
    await settled()
    expect(last(client)?.sessions).toHaveLength(FOLLOWED)
    await world.manager.createStream('new')
    await world.clock.advance(1_000)
    expect(last(client)).toMatchObject({ sessions: [{ sessionId: 'new' }], removed: [] })
    await world.manager.deleteStream('s1')
    await world.clock.advance(1_000)
    expect(last(client)).toMatchObject({ removed: ['s1'] })
  })

  test('fails so that one comes back where it cannot be looked at, and leaves nothing behind', async () => {
    const world = new Stage({ manager: { patienceMs: 100 } })
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

  test('law 8: who takes nothing is closed, and told all of it when it comes back', async () => {
    const world = new Stage({ settings: { maxBuffered: 256 }, manager: { coalesceMs: 0 } })
    const client = new Client('sse', false)
    client.isStalled = true
    world.serve(outlet => followList(world.lists, null, outlet), client)
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
