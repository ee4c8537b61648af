import { type Chunk, type Entry, Fold, foldLog, type View } from '@millrace/protocol'
import { FOLD_VERSION } from '@millrace/protocol/internal'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { delta, failure, ID, lineOf, request, World } from '../manager/manager-world.fixture.ts'
import { RandomSession, sessionActions } from '../manager/random-session.fixture.ts'
import { open } from '../manager/reading.fixture.ts'
import { StreamManager } from '../manager/stream-manager.ts'
import { memoryStore } from '../stores/memory/memory-store.ts'
import { advance, EMPTY_TICKET } from '../ticket/ticket.ts'
import { runs } from '../ticket/ticket-entries.fixture.ts'

const plain = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T

/** The content of the view that a late reader folds, without the fields that only the server knows. */
const contentOf = ({ messages, state, output, structured }: View) => plain({ messages, state, output, structured })

async function logOf(actions: Parameters<RandomSession['apply']>[0]): Promise<{ world: World; log: Entry[] }> {
  const world = new World({ coalesceMs: 0 })
  const session = new RandomSession(world.manager, ID)
  await session.apply(actions)
  await session.release()
  return { world, log: await world.log() }
}

/** All entries that a reader gets if it starts after the last operation. */
async function late(world: World, log: readonly Entry[], options: { rewound?: boolean } = {}): Promise<Entry[]> {
  const reader = world.manager.readBatches(ID, { follow: true, ...options })
  const seen: Entry[] = []
  while (seen.length === 0 || !reader.isCaughtUp) {
    const batch = log.length > 0 ? await reader.next() : undefined
    if (batch === undefined) break
    seen.push(...batch.entries)
  }
  reader.close()
  return seen
}

describe('the history of a log, after any operations', () => {
  test('law 5: its ticket matches its entries', async () => {
    await fc.assert(
      fc.asyncProperty(sessionActions, async actions => {
        const { world, log } = await logOf(actions)
        expect((await world.manager.getInfo(ID))?.ticket).toEqual(advance(EMPTY_TICKET, log))
      }),
      { numRuns: runs(30) },
    )
  })

  test('law 12: its view at any sequence is the fold of the entries before, with and without snapshots', async () => {
    let rewinds = 0
    await fc.assert(
      fc.asyncProperty(sessionActions, async actions => {
        const { world, log } = await logOf(actions)
        rewinds += log.filter(({ chunk }) => chunk.type === 'rewind').length
        for (let at = 0; at <= log.length; at += Math.ceil(log.length / 12) || 1) {
          const { view, ticket, cursor } = await world.manager.view(ID, at)
          const prefix = log.slice(0, at)
          expect(plain(view)).toEqual(plain(foldLog(prefix).view()))
          expect(ticket).toEqual(advance(EMPTY_TICKET, prefix))
          expect(cursor.sequence).toBe(at)
          const after = await open(world, { after: `${at}.${cursor.incarnation}.${cursor.epoch}`, follow: true })
          expect(await after.return()).toEqual({ done: true, value: undefined })
        }
      }),
      { numRuns: runs(20) },
    )
    expect(rewinds).toBeGreaterThan(5)
  })

  test('law 3: the entries that a late reader gets fold to the same content', async () => {
    let cuts = 0
    await fc.assert(
      fc.asyncProperty(sessionActions, async actions => {
        const { world, log } = await logOf(actions)
        cuts += log.filter(({ chunk }) => chunk.type === 'rewind' || chunk.type === 'step-discarded').length
        const seen = await late(world, log)
        expect(seen.some(({ chunk }) => chunk.type === 'rewind' || chunk.type === 'step-discarded')).toBe(false)
        expect(contentOf(foldLog(seen).view())).toEqual(contentOf((await world.manager.view(ID)).view))
      }),
      { numRuns: runs(30) },
    )
    expect(cuts).toBeGreaterThan(20)
  })

  test('law 3: with `rewound`, runs, requests, agents and usage are the same too', async () => {
    let rewinds = 0
    await fc.assert(
      fc.asyncProperty(sessionActions, async actions => {
        const { world, log } = await logOf(actions)
        const isRewind = ({ chunk }: Entry) => chunk.type === 'rewind'
        rewinds += log.filter(isRewind).length
        const seen = await late(world, log, { rewound: true })
        expect(seen.filter(isRewind)).toEqual(log.filter(isRewind))
        const { internal, drafts, ...view } = (await world.manager.view(ID)).view
        const { drafts: _, ...folded } = foldLog(seen).view()
        expect(plain({ ...folded, head: view.head })).toEqual(plain(view))
      }),
      { numRuns: runs(30) },
    )
    expect(rewinds).toBeGreaterThan(5)
  })

  test('law 12: a trim changes neither its view nor its ticket', async () => {
    let trimmed = 0
    await fc.assert(
      fc.asyncProperty(sessionActions, sessionActions, fc.nat(20), async (before, after, maxEntries) => {
        const world = new World({ coalesceMs: 0 })
        const session = new RandomSession(world.manager, ID)
        await session.apply(before)
        const whole = await world.log()
        const { view, ticket } = await world.manager.view(ID)
        const floor = await world.manager.trimStream(ID, { maxEntries })
        if (floor > 0) trimmed++
        const now = await world.manager.view(ID)
        expect([plain(now.view), now.ticket]).toEqual([plain(view), ticket])
        await session.apply(after)
        const page = await world.tap.store.read(ID, { sequence: floor }, { batches: 1e6, bytes: 1e9 })
        expect(page?.truncated).toBeNull()
        const rest = await restOf(world, floor)
        const log = [...whole.filter(({ sequence }) => sequence <= floor), ...rest]
        expect(plain((await world.manager.view(ID)).view)).toEqual(plain(foldLog(log).view()))
        expect((await world.manager.getInfo(ID))?.ticket).toEqual(advance(EMPTY_TICKET, log))
        await session.release()
      }),
      { numRuns: runs(30) },
    )
    expect(trimmed).toBeGreaterThan(10)
  })
})

async function restOf(world: World, floor: number): Promise<Entry[]> {
  const reader = world.manager.readBatches(ID, { after: floor, includeDiscarded: true, internal: true, follow: true })
  const head = (await world.manager.getInfo(ID))?.head ?? 0
  const rest: Entry[] = []
  while ((rest.at(-1)?.sequence ?? floor) < head) rest.push(...((await reader.next())?.entries ?? []))
  reader.close()
  return rest
}

describe('a snapshot', () => {
  test('limits the number of entries that are read', async () => {
    const world = new World()
    const writer = await world.writer()
    const large: Chunk = { type: 'state-snapshot', state: 'x'.repeat(500_000) }
    for (let i = 0; i < 10; i++) await writer.commit([large])
    world.tap.reset()
    await world.manager.view(ID)
    const cold = world.tap.count('read')
    await world.manager.snapshot(ID)
    await writer.commit([])
    world.tap.reset()
    await world.manager.view(ID)
    expect(cold).toBeGreaterThan(4)
    expect(world.tap.count('read')).toBeLessThanOrEqual(4)
  })

  test('law 12: ignores a snapshot of another fold version, and folds the log again', async () => {
    const world = new World()
    const writer = await world.writer()
    await writer.write(delta('right')).appended
    await writer.commit([])
    const { sequence, mark } = { sequence: writer.cursor.sequence, mark: writer.cursor.epoch }
    const body = JSON.stringify({ view: { version: FOLD_VERSION + 1, messages: ['wrong'] }, ticket: {} })
    await world.tap.store.putSnapshot(ID, { sequence, mark, version: FOLD_VERSION + 1, body }, 8)
    const { view } = await world.manager.view(ID)
    expect(view.messages[0]?.parts).toMatchObject([{ text: 'right' }])
    // Snapshots stored from now on have the current version.
    await world.manager.snapshot(ID)
    expect(await world.tap.store.getSnapshot(ID, 99)).toMatchObject({ version: FOLD_VERSION })
  })

  test('ignores a snapshot at a cursor that the log no longer holds', async () => {
    const world = new World()
    const writer = await world.writer()
    await writer.commit([])
    const body = JSON.stringify({ view: { version: FOLD_VERSION, messages: ['wrong'] }, ticket: {} })
    await world.tap.store.putSnapshot(ID, { sequence: 3, mark: 'other', version: FOLD_VERSION, body }, 8)
    const { view } = await world.manager.view(ID)
    expect(view.messages).toEqual([])
  })

  test('detects a log that is replaced during a read', async () => {
    const world = new World()
    const fill = async (runId: string) => {
      const writer = await world.writer(runId)
      for (let i = 0; i < 5; i++) await writer.commit([{ type: 'state-snapshot', state: runId.padEnd(600_000, 'x') }])
      await writer.close()
    }
    await fill('r1')
    // The head, and two pages of entries.
    for (let i = 0; i < 2; i++) world.tap.hold('read').open()
    const held = world.tap.hold('read')
    const viewed = failure(world.manager.view(ID))
    await held.arrived
    await world.manager.deleteStream(ID)
    await fill('stranger')
    held.open()
    expect(await viewed).toBe('truncated')
  })

  describe('when a log is trimmed during a read', () => {
    /** A log of four turns, and an open one. It is trimmed after this many calls of the store. */
    async function trimmed(method: 'read' | 'getSnapshot', after: number) {
      const world = new World()
      for (const runId of ['r1', 'r2', 'r3', 'r4']) {
        const writer = await world.writer(runId)
        await writer.commit([{ type: 'message', messageId: runId, role: 'user', parts: [] }])
        await world.manager.endStream(ID)
        await writer.close()
      }
      const open = await world.writer('r5')
      await open.close()
      const trimmer = new StreamManager({ store: memoryStore(undefined, world.memory), timers: world.clock })
      for (let i = 0; i < after; i++) world.tap.hold(method, 'after').open()
      const held = world.tap.hold(method, 'after')
      void held.arrived.then(async () => {
        await trimmer.trimStream(ID, { maxEntries: 3 })
        held.open()
      })
      return { world, trimmer }
    }

    test('a view reads the log again', async () => {
      const { world, trimmer } = await trimmed('getSnapshot', 0)
      const { view } = await world.manager.view(ID)
      expect(view).toEqual((await trimmer.view(ID)).view)
      expect(await trimmer.getInfo(ID)).toMatchObject({ floor: expect.toSatisfy((floor: number) => floor > 0) })
    })

    test('a new writer reads the log again', async () => {
      const { world, trimmer } = await trimmed('read', 1)
      const writer = await world.manager.createWriter(ID, { runId: 'r5', agentType: 'assistant' })
      await writer.commit([])
      expect((await trimmer.getInfo(ID))?.floor).toBeGreaterThan(0)
    })
  })

  test('rejects a sequence above the head, and a missing log', async () => {
    const world = new World()
    expect(await failure(world.manager.view(ID))).toBe('absent')
    expect(await failure(world.manager.snapshot(ID))).toBe('absent')
    await world.writer()
    expect(await failure(world.manager.view(ID, 9))).toBe('invalid')
  })

  /** Fourteen turns with a snapshot each; trimmed after the second. Returns where each began. */
  async function turns(world: World): Promise<number[]> {
    const starts: number[] = []
    for (let i = 0; i < 14; i++) {
      starts.push((await world.manager.getInfo(ID))?.head ?? 0)
      const writer = await world.writer(`r${i}`)
      await writer.commit([{ type: 'message', messageId: `m${i}`, role: 'user', parts: [] }])
      await world.manager.endStream(ID)
      await writer.close()
      if (i === 1) await world.manager.trimStream(ID, { maxEntries: 3 })
      await world.manager.snapshot(ID)
    }
    return starts
  }
  const cut = (world: World, toSequence: number | undefined) =>
    world.manager.append(ID, 'ada', request(`to-${toSequence}`, { cut: { toSequence, reason: 'edit' } }))

  test('law 12: refuses a rewind to entries that can no longer be folded', async () => {
    const world = new World()
    const starts = await turns(world)
    expect(await cut(world, starts[1])).toEqual({ outcome: 'refused', reason: 'gone' })
    // The snapshot at the floor stays, however many were stored since.
    expect((await cut(world, starts[2])).outcome).toBe('appended')
  })

  test('law 12: keeps the snapshots for a waiting rewind until it is made', async () => {
    const world = new World()
    const starts = await turns(world)
    const at = starts[8] as number
    await cut(world, at)
    for (let i = 0; i < 12; i++) {
      await world.manager.append(ID, 'ada', request(`q${i}`, { whenBusy: 'queue' }))
      await world.manager.snapshot(ID)
    }
    const next = await world.writer(`to-${at}`)
    const { view } = await world.manager.view(ID)
    const userMessageIds = view.messages.filter(({ role }) => role === 'user').map(({ id }) => id)
    expect(userMessageIds).toEqual(Array.from({ length: 8 }, (_, i) => `m${i}`))
    await next.close()
  })
})

describe('the entries of a range', () => {
  test('are returned as stored, with internal and discarded ones, also from the middle of a batch', async () => {
    const world = new World()
    const writer = await world.writer()
    await writer.commit([
      { chunk: { type: 'run-context', context: 1 }, internal: true },
      { type: 'output', output: 1 },
    ])
    writer.write(delta('gone'))
    await writer.flush()
    await writer.main.discard({ reason: 'retry' })
    const log = await world.log()
    expect(log.map(lineOf)).toContain('text-delta 1 gone')
    for (let after = 0; after <= log.length; after++) {
      for (let to = after; to <= log.length; to++) {
        expect(await world.manager.entries(ID, after, to)).toEqual(log.slice(after, to))
      }
    }
    expect(log.some(({ internal }) => internal)).toBe(true)
  })

  test('continue a fold of the view before them', async () => {
    const world = new World()
    const writer = await world.writer()
    await writer.commit([{ type: 'state-snapshot', state: { n: 1 } }])
    const { view, cursor } = await world.manager.view(ID)
    writer.write(delta('more'))
    await writer.commit([{ type: 'output', output: 1 }])
    const fold = Fold.from(view)
    fold.apply(await world.manager.entries(ID, cursor.sequence, writer.cursor.sequence))
    expect(fold.view()).toEqual((await world.manager.view(ID)).view)
  })

  test('throws if some are missing: below the floor, beyond the head, or of a missing log', async () => {
    const world = new World()
    const writer = await world.writer()
    await world.manager.endStream(ID)
    await writer.close()
    const { head } = (await world.manager.getInfo(ID)) as { head: number }
    expect(await failure(world.manager.entries(ID, 0, head + 1))).toBe('truncated')
    expect(await failure(world.manager.entries('missing', 0, 1))).toBe('truncated')
    const floor = await world.manager.trimStream(ID, { maxEntries: 1 })
    expect(await failure(world.manager.entries(ID, floor - 1, head))).toBe('truncated')
    expect(await world.manager.entries(ID, floor, head)).toHaveLength(head - floor)
    for (const wrong of [-1, 1.5, Number.NaN]) {
      expect(await failure(world.manager.entries(ID, wrong, head))).toBe('invalid')
      expect(await failure(world.manager.entries(ID, 0, wrong))).toBe('invalid')
    }
  })
})
