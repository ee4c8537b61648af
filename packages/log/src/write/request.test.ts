import type { Chunk } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import { ID, request, stop, World } from '../manager/manager-world.fixture.ts'

const append = (world: World, chunk: Chunk, guest = 'ada') => world.manager.append(ID, guest, chunk)
const refusal = async (world: World, chunk: Chunk, guest = 'ada'): Promise<string> => {
  const done = await append(world, chunk, guest)
  return done.outcome === 'refused' ? done.reason : done.outcome
}

describe('a request', () => {
  test('law 5: is identified by its run, whatever else it contains, trimmed or not', async () => {
    const world = new World()
    await world.manager.createStream(ID)
    const { first } = (await append(world, request('r1'))) as { first: number }
    const writer = await world.writer()
    await writer.commit([])
    await world.manager.endStream(ID)
    await writer.close()
    await world.manager.trimStream(ID, { maxEntries: 1 })
    expect((await world.manager.getInfo(ID))?.floor).toBeGreaterThan(first)
    const again = await append(world, request('r1', { program: 'agent:other@1' }), 'bob')
    expect(again).toMatchObject({ outcome: 'duplicate', first })
  })

  test('law 5: of two concurrent requests one is accepted, and the other refused', async () => {
    const world = new World()
    await world.manager.createStream(ID)
    const held = world.tap.hold('append')
    const first = append(world, request('r1'))
    await held.arrived
    const second = await append(world, request('r2'), 'bob')
    held.open()
    expect([(await first).outcome, second.outcome]).toEqual(['refused', 'appended'])
    expect(await world.lines()).toEqual(['bob: run-requested'])
  })

  test('law 5: a start that was decided while another run was open fails after the next run has begun', async () => {
    const world = new World()
    const writer = await world.writer()
    await world.manager.endStream(ID)
    await writer.close()
    const held = world.tap.hold('append')
    const stale = append(world, request('retry'))
    await held.arrived
    const next = await world.process().createWriter(ID, { runId: 'r2', agentType: 'assistant' })
    const started = next.commit([])
    await started
    held.open()
    expect(await stale).toEqual({ outcome: 'refused', reason: 'busy' })
  })

  test('law 5: a request with ifVersion is refused on another ticket, but a repeat is a duplicate first', async () => {
    const world = new World()
    await world.manager.createStream(ID)
    const version = async () => (await world.manager.getInfo(ID))?.version ?? ''
    const ask = (runId: string, ifVersion: string) =>
      world.manager.append(ID, 'ada', request(runId, { whenBusy: 'queue' }), { ifVersion })
    const before = await version()
    const held = world.tap.hold('append')
    const first = ask('r1', before)
    await held.arrived
    expect(await append(world, request('r2'), 'bob')).toMatchObject({ outcome: 'appended' })
    held.open()
    expect(await first).toEqual({ outcome: 'refused', reason: 'moved' })
    expect(await ask('r1', await version())).toMatchObject({ outcome: 'appended' })
    expect(await ask('r1', before)).toMatchObject({ outcome: 'duplicate' })
    expect(await world.lines()).toEqual(['bob: run-requested', 'ada: run-requested'])
  })

  test('a request with whenBusy queue waits in order', async () => {
    const world = new World()
    await world.writer()
    for (const runId of ['q1', 'q2']) await append(world, request(runId, { whenBusy: 'queue' }))
    expect(await world.manager.due(['agent:assistant@1'])).toEqual([])
    await world.manager.endStream(ID)
    await world.manager.close()
    expect(await world.manager.due(['agent:assistant@1'])).toEqual([ID])
    expect((await world.manager.getInfo(ID))?.ticket.requests.map(({ runId }) => runId)).toEqual(['q1', 'q2'])
  })

  test('a request that interrupts stops the open run as interrupted, and goes first', async () => {
    const world = new World()
    await world.writer()
    await append(world, request('q1', { whenBusy: 'queue' }))
    await append(world, request('now', { whenBusy: 'interrupt-previous' }))
    expect(await world.manager.endStream(ID)).toBe('interrupted')
    expect((await world.manager.getInfo(ID))?.ticket.requests.map(({ runId }) => runId)).toEqual(['now', 'q1'])
  })

  test('a withdrawn request is gone, and its run id cannot be used again', async () => {
    const world = new World()
    await world.writer()
    await append(world, request('q1', { whenBusy: 'queue' }))
    expect(await refusal(world, stop('q1'), 'bob')).toBe('appended')
    expect(await refusal(world, stop('q1'), 'eve')).toBe('ended')
    expect((await world.manager.getInfo(ID))?.ticket).toMatchObject({ requests: [], stop: false })
    expect(await refusal(world, request('q1', { whenBusy: 'queue' }))).toBe('duplicate')
  })
})
