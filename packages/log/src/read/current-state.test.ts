import { type Cursor, foldLog } from '@millrace/protocol'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { delta, failure, ID, request, World } from '../manager/manager-world.fixture.ts'
import { RandomSession, sessionActions } from '../manager/random-session.fixture.ts'
import { advance, EMPTY_TICKET } from '../ticket/ticket.ts'
import { runs } from '../ticket/ticket-entries.fixture.ts'
import { OpenDrafts } from './open-drafts.ts'

const plain = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T

const textOf = ({ view }: { view: { messages: readonly { parts: readonly object[] }[] } }): string =>
  view.messages.flatMap(({ parts }) => parts.map(part => ('text' in part ? part.text : ''))).join('')

describe('the current state of a log, read repeatedly', () => {
  test('laws 3, 5 and 12: matches the entries after any change, and a fold of it continues', async () => {
    let rewinds = 0
    await fc.assert(
      fc.asyncProperty(sessionActions, async actions => {
        const world = new World({ coalesceMs: 0 })
        const other = world.process()
        const session = new RandomSession(world.manager, ID)
        let seen: { received: object; was: object } | undefined
        for (const action of actions) {
          await session.apply([action])
          const log = await world.log()
          const { view, ticket, cursor } = await (action.n % 2 ? world.manager : other).view(ID)
          expect(plain(view)).toEqual(plain(foldLog(log).view()))
          expect(ticket).toEqual(advance(EMPTY_TICKET, log))
          expect((await world.tap.store.read(ID, cursor, { batches: 0, bytes: 0 }))?.truncated).toBeNull()
          // Earlier results do not change.
          expect(seen?.received).toEqual(seen?.was)
          seen = { received: view, was: plain(view) }
          const { fold } = await other.fold(ID)
          expect(plain(fold.view())).toEqual(plain(view))
        }
        rewinds += (await world.log()).filter(({ chunk }) => chunk.type === 'rewind').length
        await session.release()
      }),
      { numRuns: runs(15) },
    )
    expect(rewinds).toBeGreaterThan(3)
  })

  test('law 12: a snapshot of it contains everything, with the drafts', async () => {
    let drafts = 0
    await fc.assert(
      fc.asyncProperty(sessionActions, sessionActions, async (before, after) => {
        const world = new World({ coalesceMs: 0 })
        const session = new RandomSession(world.manager, ID)
        for (const actions of [before, after]) {
          await session.apply(actions)
          await world.manager.snapshot(ID)
        }
        const log = await world.log()
        world.tap.reset()
        const { view, ticket } = await world.process().view(ID)
        expect(world.tap.entries).toBe(0)
        expect([plain(view), ticket]).toEqual([plain(foldLog(log).view()), advance(EMPTY_TICKET, log)])
        const openDrafts = new OpenDrafts()
        for (const entry of log) openDrafts.add(entry)
        const kept = await world.tap.store.getSnapshot(ID, log.length)
        expect(JSON.parse(kept?.body ?? '')).toMatchObject({ drafts: plain(openDrafts.drafts) })
        drafts += openDrafts.drafts.length
        await session.release()
      }),
      { numRuns: runs(20) },
    )
    expect(drafts).toBeGreaterThan(5)
  })

  test('reads only new entries, and no snapshot', async () => {
    const world = new World({ coalesceMs: 0 })
    const writer = await world.writer()
    for (let n = 0; n < 50; n++) await writer.main.write(delta('x')).appended
    await world.manager.view(ID)
    await writer.main.write(delta('y')).appended
    world.tap.reset()
    expect(textOf(await world.manager.view(ID))).toBe(`${'x'.repeat(50)}y`)
    expect(world.tap.entries).toBe(1)
    const { fold } = await world.manager.fold(ID)
    expect(textOf({ view: fold.view() })).toBe(`${'x'.repeat(50)}y`)
    expect([world.tap.count('read'), world.tap.count('getSnapshot'), world.tap.entries]).toEqual([2, 0, 1])
  })

  test('is the same for concurrent callers, and contains everything written before their calls', async () => {
    const world = new World({ coalesceMs: 0 })
    const writer = await world.writer()
    await writer.main.write(delta('a')).appended
    await world.manager.view(ID)
    const first = world.tap.hold('read', 'after')
    await writer.main.write(delta('b')).appended
    const early = world.manager.view(ID)
    await first.arrived
    await writer.main.write(delta('c')).appended
    const late = await Promise.all([1, 2, 3].map(() => world.manager.view(ID)))
    expect(late.map(textOf)).toEqual(['abc', 'abc', 'abc'])
    first.open()
    expect(textOf(await early)).toBe('abc')
  })

  test('law 2: is not taken from a log that was replaced', async () => {
    const world = new World({ coalesceMs: 0 })
    const other = world.process()
    const writer = await world.writer()
    await writer.main.write(delta('old')).appended
    await writer.close()
    expect(textOf(await world.manager.view(ID))).toBe('old')
    await other.deleteStream(ID)
    expect(await failure(world.manager.view(ID))).toBe('absent')
    const next = await world.writer('r2', other)
    await next.main.write(delta('new')).appended
    expect(textOf(await world.manager.view(ID))).toBe('new')
    await next.close()
    // A restored log may lack entries that were read before.
    await world.tap.store.restored()
    world.tap.reset()
    expect(textOf(await world.manager.view(ID))).toBe('new')
    expect(world.tap.entries).toBeGreaterThan(1)
  })
})

describe('the entries after a cursor', () => {
  async function stage() {
    const world = new World({ coalesceMs: 0 })
    const writer = await world.writer()
    const { cursor } = await world.manager.view(ID)
    await writer.main.write(delta('a')).appended
    await writer.main.write(delta('b')).appended
    return { world, writer, cursor }
  }

  test('are returned with their last cursor, up to the head or a sequence', async () => {
    const { world, writer, cursor } = await stage()
    const now = writer.cursor
    const sequencesAfter = async (after: Cursor) => {
      const { entries = [], cursor } = (await world.manager.since(ID, after)) ?? {}
      return [entries.map(({ sequence }) => sequence), cursor]
    }
    expect(await sequencesAfter(cursor)).toEqual([[now.sequence - 1, now.sequence], now])
    expect(await sequencesAfter(now)).toEqual([[], now])
    const half = await world.manager.upTo(ID, cursor, now.sequence - 1)
    expect(half.entries.map(({ sequence }) => sequence)).toEqual([now.sequence - 1])
    expect(await sequencesAfter(half.cursor)).toEqual([[now.sequence], now])
  })

  test('are undefined if the log does not hold the cursor (law 2)', async () => {
    const { world, writer, cursor } = await stage()
    const { sequence } = writer.cursor
    await writer.close()
    await world.manager.append(ID, 'ada', request('r2', { whenBusy: 'queue' }))
    for (const strange of [
      { ...cursor, incarnation: 'another' },
      { ...cursor, epoch: 'another' },
    ]) {
      expect(await world.manager.since(ID, strange)).toBeUndefined()
      expect(await failure(world.manager.upTo(ID, strange, sequence))).toBe('regressed')
    }
    await world.manager.deleteStream(ID)
    expect(await world.manager.since(ID, cursor)).toBeUndefined()
    expect(await failure(world.manager.upTo(ID, cursor, sequence))).toBe('truncated')
  })
})
