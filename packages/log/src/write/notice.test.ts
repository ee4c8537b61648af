import type { Chunk } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import { clientCall, delta, ID, output, request, World } from '../manager/manager-world.fixture.ts'
import { advance, EMPTY_TICKET } from '../ticket/ticket.ts'

const AFTER_MS = 30_000
const RUNS = ['agent:assistant@1']
const TELLERS = ['notify:agent:assistant']

/** An ended run with an open notice. Returns its notifyBy. */
async function ended(world: World, runId = 'r1'): Promise<number> {
  const writer = await world.writer(runId)
  writer.write(delta('done'))
  const notifyBy = world.clock.now() + AFTER_MS
  await writer.decide(() => [{ type: 'finish' }, { type: 'run-finished', status: 'completed', notifyBy }])
  await writer.close()
  return notifyBy
}

const notified = (notifyBy: number, until?: number): Chunk => {
  return { type: 'run-notified', runId: 'r1', notifyBy, ...(until !== undefined && { until }) }
}
const append = async (world: World, chunk: Chunk, guest = 'teller') => {
  const done = await world.manager.append(ID, guest, chunk)
  return done.outcome === 'refused' ? done.reason : done.outcome
}
const noticesOf = async (world: World, id = ID) => (await world.manager.getInfo(id))?.ticket.notices

describe('notices for observers', () => {
  test('are due for notifiers from notifyBy on, until they are confirmed', async () => {
    const world = new World()
    const notifyBy = await ended(world)
    expect(await world.manager.due([...RUNS, ...TELLERS])).toEqual([])
    await world.clock.advance(AFTER_MS)
    expect(await world.manager.due(TELLERS)).toEqual([ID])
    expect(await world.manager.due(RUNS)).toEqual([])
    expect(await append(world, notified(notifyBy))).toBe('appended')
    expect(await world.manager.due(TELLERS)).toEqual([])
    expect(await noticesOf(world)).toBeUndefined()
  })

  test('law 5: one process claims a notice, and the next only after that claim has expired', async () => {
    const world = new World()
    const notifyBy = await ended(world)
    expect(await append(world, notified(notifyBy, notifyBy + 1000))).toBe('claimed')
    await world.clock.advance(AFTER_MS)
    const noticePrograms = ['a', 'b', 'c', 'd']
    const until = world.clock.now() + AFTER_MS
    const done = await Promise.all(noticePrograms.map(guest => append(world, notified(notifyBy, until), guest)))
    expect(done.sort()).toEqual(['already-settled', 'already-settled', 'already-settled', 'appended'])
    expect(await world.manager.due(TELLERS)).toEqual([])
    await world.clock.advance(AFTER_MS)
    expect(await world.manager.due(TELLERS)).toEqual([ID])
    expect(await noticesOf(world)).toMatchObject([{ notifyBy: until, tries: 1 }])
  })

  test('law 5: a repeated confirmation is a duplicate, a second one is already settled', async () => {
    const world = new World()
    const notifyBy = await ended(world)
    expect(await append(world, notified(notifyBy))).toBe('appended')
    expect(await append(world, notified(notifyBy))).toBe('duplicate')
    expect(await append(world, notified(notifyBy), 'another')).toBe('already-settled')
    expect(await append(world, notified(notifyBy + 1))).toBe('already-settled')
  })

  test('law 10: run-notified is internal and shows nowhere', async () => {
    const world = new World()
    const notifyBy = await ended(world)
    const before = await world.manager.view(ID)
    const reader = await world.manager.createResumableReader(ID, { follow: true, after: before.cursor.sequence })
    const next = reader.next()
    await append(world, notified(notifyBy))
    expect((await world.log()).at(-1)).toMatchObject({ internal: true, origin: { guest: 'teller' } })
    const after = await world.manager.view(ID)
    expect({ ...after.view, head: before.view.head }).toEqual(before.view)
    await world.manager.append(ID, 'ada', request('r2'))
    expect((await next).value).toMatchObject({ chunk: { type: 'run-requested' } })
    await reader.return()
  })

  test('do not block the next run, and are kept', async () => {
    const world = new World()
    const notifyBy = await ended(world)
    const writer = await world.writer('r2')
    expect(await noticesOf(world)).toHaveLength(1)
    await append(world, notified(notifyBy))
    // As for every change of the ticket: earlier decisions are made again.
    expect(await writer.commit([clientCall('c1')])).toMatchObject({ outcome: 'moved' })
    expect(await writer.commit([clientCall('c1')])).toMatchObject({ outcome: 'appended' })
    await world.manager.pauseStream(ID)
    await writer.close()
    await append(world, output('c1'))
    const log = await world.log()
    expect((await world.manager.getInfo(ID))?.ticket).toEqual(advance(EMPTY_TICKET, log))
    expect(await world.manager.due(RUNS)).toEqual([ID])
  })

  test('law 12: do not prevent a trim, and stay in the ticket of the trimmed log', async () => {
    const world = new World()
    const notifyBy = await ended(world)
    const { head } = (await world.manager.getInfo(ID)) as { head: number }
    expect(await world.manager.trimStream(ID, { maxEntries: 0 })).toBe(head)
    await world.clock.advance(AFTER_MS)
    expect(await world.manager.due(TELLERS)).toEqual([ID])
    const { view, ticket } = await world.manager.view(ID)
    expect(ticket.notices).toMatchObject([{ runId: 'r1', status: 'completed' }])
    expect(view.runs).toMatchObject([{ runId: 'r1', status: 'completed' }])
    expect(await append(world, notified(notifyBy))).toBe('appended')
  })

  test('are not copied to a fork', async () => {
    const world = new World()
    const notifyBy = await ended(world)
    const { head } = (await world.manager.getInfo(ID)) as { head: number }
    await world.manager.forkStream(ID, head, 'copy')
    expect(await noticesOf(world, 'copy')).toBeUndefined()
    expect(await noticesOf(world)).toMatchObject([{ notifyBy }])
    expect((await world.manager.getInfo('copy'))?.ticket).toEqual(advance(EMPTY_TICKET, await world.log('copy')))
    // Also if the source is confirmed after the copy.
    await append(world, notified(notifyBy))
    await world.manager.forkStream(ID, head, 'later')
    expect(await noticesOf(world, 'later')).toBeUndefined()
    await world.clock.advance(AFTER_MS)
    expect(await world.manager.due(TELLERS)).toEqual([])
  })
})
