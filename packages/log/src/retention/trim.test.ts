import { describe, expect, test } from 'vitest'
import { ask, delta, failure, ID, request, World } from '../manager/manager-world.fixture.ts'
import { StreamManager } from '../manager/stream-manager.ts'
import { memoryStore } from '../stores/memory/memory-store.ts'

/** An ended run. */
async function run(world: World, runId: string, entries = 3) {
  const writer = await world.writer(runId)
  for (let i = 0; i < entries; i++) await writer.commit([])
  await world.manager.endStream(ID)
  await writer.close()
}
const floorOf = async (world: World) => (await world.manager.getInfo(ID))?.floor

describe('getInfo', () => {
  test('returns the state of a log, and null if it does not exist', async () => {
    const world = new World({ owner: 'worker' })
    expect(await world.manager.getInfo(ID)).toBeNull()
    expect(await world.manager.createStream(ID, 'ada')).toBe(true)
    expect(await world.manager.createStream(ID, 'bob')).toBe(false)
    expect(await world.manager.getInfo(ID)).toMatchObject({
      streamId: ID,
      head: 0,
      latestSequence: 0,
      floor: 0,
      status: 'active',
      principal: 'ada',
      lease: null,
    })
    await world.writer()
    expect(await world.manager.getInfo(ID)).toMatchObject({
      head: 2,
      latestSequence: 2,
      ticket: { run: { runId: 'r1', program: 'agent:assistant@1', paused: false } },
      lease: { owner: expect.stringMatching(/^worker/) },
    })
  })

  test('a writer creates its log for the given principal', async () => {
    const world = new World()
    await world.manager.createWriter(ID, { runId: 'r1', agentType: 'a', principal: 'ada' })
    expect(await world.manager.getInfo(ID)).toMatchObject({ principal: 'ada' })
  })
})

describe('listStreams', () => {
  test('lists the logs of a principal, last touched first, in pages', async () => {
    const world = new World()
    for (let i = 0; i < 7; i++) {
      await world.manager.createStream(`s${i}`, 'ada')
      await world.clock.advance(10)
    }
    await world.manager.createStream('other', 'bob')
    await world.manager.createStream('nobody')
    const writer = await world.manager.createWriter('s2', { runId: 'r', agentType: 'a' })
    await writer.commit([])
    const pages: string[][] = []
    for (let after: string | undefined, isMore = true; isMore; ) {
      const page = await world.manager.listStreams('ada', { limit: 3, ...(after !== undefined && { after }) })
      pages.push(page.streams.map(({ streamId }) => streamId))
      after = page.next ?? undefined
      isMore = page.next !== null
    }
    expect(pages).toEqual([['s2', 's6', 's5'], ['s4', 's3', 's1'], ['s0']])
    expect((await world.manager.listStreams(undefined)).streams).toMatchObject([
      { streamId: 'nobody', status: 'active' },
    ])
    expect((await world.manager.listStreams('eve')).streams).toEqual([])
  })

  test('contains the status of each log', async () => {
    const world = new World()
    await run(world, 'r1')
    const paused = await world.manager.createWriter('p', { runId: 'r', agentType: 'a' })
    await paused.commit([ask('a')])
    await world.manager.pauseStream('p')
    const { streams } = await world.manager.listStreams(undefined)
    expect(Object.fromEntries(streams.map(({ streamId, status }) => [streamId, status]))).toEqual({
      p: 'paused',
      [ID]: 'ended',
    })
  })

  test('rejects an invalid limit or cursor', async () => {
    const { manager } = new World()
    for (const limit of [0, -1, 1.5, Number.NaN])
      expect(await failure(manager.listStreams('ada', { limit }))).toBe('invalid')
    expect(await failure(manager.listStreams('ada', { after: 'nonsense' }))).toBe('invalid')
  })
})

describe('removing a log', () => {
  test('deleteStream deletes everything of a log', async () => {
    const world = new World({ blobBytes: 10 })
    const writer = await world.writer()
    await writer.commit([{ type: 'run-context', context: 'x'.repeat(100) }])
    await world.manager.snapshot(ID)
    await world.manager.append(ID, 'ada', request('q', { whenBusy: 'queue' }))
    expect(await world.manager.deleteStream(ID)).toBe(true)
    expect(await world.manager.deleteStream(ID)).toBe(false)
    expect(await world.manager.getInfo(ID)).toBeNull()
    expect(await world.tap.store.getSnapshot(ID, 99)).toBeUndefined()
    expect(await world.tap.store.find(ID, 'run:q')).toBeUndefined()
    expect((await world.manager.listStreams(undefined)).streams).toEqual([])
    expect(await world.manager.due(['agent:assistant@1'])).toEqual([])
  })

  test('law 12: expires a log only if no run is open or requested', async () => {
    const world = new World()
    const expire = (idleMs: number) => world.manager.expireStream(ID, idleMs)
    expect(await expire(0)).toBe(false)
    const writer = await world.writer()
    await world.clock.advance(1_000_000)
    expect(await expire(1000)).toBe(false)
    await world.manager.append(ID, 'ada', request('q', { whenBusy: 'queue' }))
    await world.manager.endStream(ID)
    await writer.close()
    await world.clock.advance(1_000_000)
    expect(await expire(1000)).toBe(false)
    const next = await world.writer('q')
    await world.manager.endStream(ID)
    await next.close()
    expect(await expire(1000)).toBe(false)
    await world.clock.advance(999)
    expect(await expire(1000)).toBe(false)
    await world.clock.advance(1)
    expect(await expire(1000)).toBe(true)
    expect(await world.manager.getInfo(ID)).toBeNull()
  })

  test('does not expire a log with an undelivered notice, for at most a day', async () => {
    const world = new World()
    const writer = await world.writer()
    const notifyBy = world.clock.now() + 30_000
    await writer.decide(() => [{ type: 'run-finished', status: 'completed', notifyBy }])
    await writer.close()
    await world.clock.advance(3_600_000)
    expect(await world.manager.expireStream(ID, 1000)).toBe(false)
    await world.clock.advance(86_400_000)
    expect(await world.manager.expireStream(ID, 1000)).toBe(true)
  })

  test('a delivered notice does not keep its log', async () => {
    const world = new World()
    const writer = await world.writer()
    const notifyBy = world.clock.now() + 30_000
    await writer.decide(() => [{ type: 'run-finished', status: 'completed', notifyBy }])
    await writer.close()
    await world.manager.append(ID, 'observer', { type: 'run-notified', runId: 'r1', notifyBy })
    await world.clock.advance(3_600_000)
    expect(await world.manager.expireStream(ID, 1000)).toBe(true)
  })

  test('law 12: does not expire a claimed log', async () => {
    const world = new World()
    const writer = await world.manager.createWriter(ID, { runId: 'r1', agentType: 'assistant' })
    expect(await world.manager.expireStream(ID, 0)).toBe(false)
    await writer.commit([delta('a')])
    await world.manager.endStream(ID)
    expect(await world.manager.expireStream(ID, 0)).toBe(false)
    await writer.close()
    expect(await world.manager.expireStream(ID, 0)).toBe(true)
  })

  test('law 12: does not expire a log with a request that arrived meanwhile', async () => {
    const world = new World()
    await run(world, 'r1')
    await world.clock.advance(5000)
    const held = world.tap.hold('remove')
    const expired = world.manager.expireStream(ID, 1000)
    await held.arrived
    await world.manager.append(ID, 'ada', request('r2'))
    held.open()
    expect(await expired).toBe(false)
    expect(await world.lines()).toContain('ada: run-requested')
  })
})

describe('expireStreamAfter', () => {
  test('decides again if the ticket moved meanwhile', async () => {
    const store = memoryStore()
    const manager = new StreamManager({ store })
    await manager.createStream(ID)
    const titles = ['one', 'two']
    const versions: string[] = []
    store.expireAfter = async (_id, _ms, version) => {
      versions.push(version)
      const title = titles.shift()
      if (title === undefined) return true
      await manager.append(ID, 'ada', { type: 'session-info', title })
      return false
    }
    expect(await manager.expireStreamAfter(ID, 1000)).toBe(true)
    expect(new Set(versions).size).toBe(3)
    store.expireAfter = async () => false
    expect(await manager.expireStreamAfter(ID, 1000)).toBe(false)
  })

  test('does nothing on a store that cannot remove a log by itself, or without the log', async () => {
    const { manager } = new World()
    await manager.createStream(ID)
    expect(await manager.expireStreamAfter(ID, 1000)).toBe(false)
    const store = Object.assign(memoryStore(), { expireAfter: async () => true })
    expect(await new StreamManager({ store }).expireStreamAfter(ID, 1000)).toBe(false)
    expect(await failure(manager.expireStreamAfter(ID, -1))).toBe('invalid')
  })
})

describe('listOldestStreams', () => {
  test('lists the logs of all principals with their tickets, least recently touched first, in pages', async () => {
    const world = new World()
    for (const [id, principal] of [
      ['a', 'ada'],
      ['b', undefined],
      [ID, 'bob'],
    ] as const) {
      await world.manager.createStream(id, principal)
      await world.clock.advance(10)
    }
    await run(world, 'r1')
    const first = await world.manager.listOldestStreams({ limit: 2 })
    expect(first).toMatchObject({ clock: world.clock.now(), streams: [{ streamId: 'a', floor: 0 }, { streamId: 'b' }] })
    const second = await world.manager.listOldestStreams({ limit: 2, after: first.next ?? '' })
    expect(second).toMatchObject({ next: null, streams: [{ streamId: ID, status: 'ended', ticket: { run: null } }] })
    expect(await failure(world.manager.listOldestStreams({ limit: 0 }))).toBe('invalid')
    expect(await failure(world.manager.listOldestStreams({ after: 'nonsense' }))).toBe('invalid')
  })
})

describe('law 12: a trim', () => {
  test('reads by age no further than the first young entry, and folds nothing if none is old', async () => {
    const world = new World()
    await run(world, 'r1')
    const { head } = (await world.manager.getInfo(ID)) as { head: number }
    await world.clock.advance(60_000)
    await run(world, 'r2', 300)
    const cold = world.process()
    world.tap.reset()
    expect(await cold.trimStream(ID, { maxAgeMs: 120_000 })).toBe(0)
    expect(world.tap.count('getSnapshot')).toBe(0)
    expect(world.tap.count('read')).toBe(2)
    expect(await cold.trimStream(ID, { maxAgeMs: 30_000 })).toBe(head)
  })

  test('keeps the last entries by count, after storing a snapshot', async () => {
    const world = new World()
    await run(world, 'r1')
    const { head } = (await world.manager.getInfo(ID)) as { head: number }
    const before = await world.manager.view(ID)
    expect(await world.manager.trimStream(ID, { maxEntries: 2 })).toBe(head - 2)
    expect(await floorOf(world)).toBe(head - 2)
    expect(await world.tap.store.getSnapshot(ID, head - 2)).toMatchObject({ sequence: head - 2 })
    expect((await world.manager.view(ID)).view).toEqual(before.view)
    // A second call, or one for more entries, changes nothing.
    expect(await world.manager.trimStream(ID, { maxEntries: 2 })).toBe(head - 2)
    expect(await world.manager.trimStream(ID, { maxEntries: 50 })).toBe(head - 2)
    expect(await world.manager.trimStream(ID, {})).toBe(head - 2)
  })

  test('keeps younger entries by age, on the store’s clock', async () => {
    const world = new World()
    await run(world, 'r1')
    const { head } = (await world.manager.getInfo(ID)) as { head: number }
    await world.clock.advance(60_000)
    await run(world, 'r2')
    expect(await world.manager.trimStream(ID, { maxAgeMs: 120_000 })).toBe(0)
    expect(await world.manager.trimStream(ID, { maxAgeMs: 30_000 })).toBe(head)
    await world.clock.advance(60_000)
    expect(await world.manager.trimStream(ID, { maxAgeMs: 30_000, maxEntries: 100 })).toBe(2 * head)
  })

  test('never passes the start of an open run, running or paused', async () => {
    const world = new World()
    await run(world, 'r1')
    const { head } = (await world.manager.getInfo(ID)) as { head: number }
    const writer = await world.writer('r2')
    writer.write(delta('open'))
    await writer.commit([ask('a')])
    expect(await world.manager.trimStream(ID, { maxEntries: 0 })).toBe(head)
    await world.manager.pauseStream(ID)
    await world.clock.advance(1_000_000)
    expect(await world.manager.trimStream(ID, { maxAgeMs: 1 })).toBe(head)
    await world.manager.endStream(ID)
    expect(await world.manager.trimStream(ID, { maxEntries: 0 })).toBeGreaterThan(head)
  })

  test('never passes a waiting request, nor the sequence to which it cuts', async () => {
    const world = new World()
    await run(world, 'r1')
    const { head } = (await world.manager.getInfo(ID)) as { head: number }
    await run(world, 'r2')
    await world.manager.append(ID, 'ada', request('r3', { cut: { toSequence: head, reason: 'edit' } }))
    await world.clock.advance(1_000_000)
    expect(await world.manager.trimStream(ID, { maxEntries: 0 })).toBe(head)
    const writer = await world.writer('r3')
    expect((await world.manager.view(ID)).view.runs.map(({ runId }) => runId)).toEqual(['r1', 'r2', 'r3'])
    await world.manager.endStream(ID)
    await writer.close()
    await run(world, 'r4')
    await world.manager.append(ID, 'ada', request('r5'))
    const { head: headAtRequest } = (await world.manager.getInfo(ID)) as { head: number }
    expect(await world.manager.trimStream(ID, { maxEntries: 0 })).toBe(headAtRequest - 1)
  })

  test('keeps the message of a waiting request', async () => {
    const world = new World()
    await run(world, 'r1')
    const message = { messageId: 'm', role: 'user', parts: [{ type: 'text', text: 'hello' }] }
    await world.manager.append(ID, 'ada', request('r2', { message }))
    await world.manager.trimStream(ID, { maxEntries: 0 })
    await world.writer('r2')
    expect((await world.manager.view(ID)).view.messages.at(-1)).toMatchObject({ id: 'm', parts: [{ text: 'hello' }] })
  })

  test('does nothing for a missing log', async () => {
    const { manager } = new World()
    expect(await manager.trimStream(ID, { maxEntries: 0 })).toBe(0)
  })
})
