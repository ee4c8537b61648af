import { type Entry, Fold, isDraftChunk, isGuest, type View } from '@millrace/protocol'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { delta, ID, lineOf, request, World } from '../manager/manager-world.fixture.ts'
import { RandomSession, sessionActions } from '../manager/random-session.fixture.ts'
import { retractedSequences } from '../test/chaos/log-model.fixture.ts'
import { runs } from '../ticket/ticket-entries.fixture.ts'
import type { ReaderOptions } from './batch-reader.ts'

/** All entries that a reader gets when it resumes from a cursor. */
async function readAfter(world: World, after: number, options: Omit<ReaderOptions, 'after'> = {}): Promise<Entry[]> {
  const reader = world.manager.readBatches(ID, { after, follow: true, ...options })
  const entries: Entry[] = []
  for (let batch = await reader.nextAvailable(); batch; batch = await reader.nextAvailable())
    entries.push(...batch.entries)
  expect(reader.isCaughtUp).toBe(true)
  reader.close()
  return entries
}

const isRetraction = ({ chunk }: Entry) => chunk.type === 'rewind' || chunk.type === 'step-discarded'

/** The entries that survive the retractions: requests do, and a run's end does if some of the run is left. */
function survivors(log: readonly Entry[]): Entry[] {
  const retracted = retractedSequences(log)
  const started = new Map(
    log.flatMap(({ chunk, origin, sequence: at }) => (chunk.type === 'run-started' ? [[origin.runId, at]] : [])),
  )
  return log.filter(({ sequence, chunk, origin, internal }) => {
    if (internal) return false
    if (isGuest(origin) && /^(run|stop)-requested$/.test(chunk.type)) return true
    return !retracted.has(/^(run-finished|error)$/.test(chunk.type) ? (started.get(origin.runId) ?? 0) : sequence)
  })
}

/** The view of a reader that had the view at a cursor and got these entries since. At a rewind it takes a snapshot. */
async function foldedOn(world: World, from: number, entries: readonly Entry[], head: number): Promise<View> {
  const fold = from === 0 ? new Fold() : (await world.manager.fold(ID, from)).fold
  for (let refold = fold.apply(entries, head); refold; ) {
    const { toSequence, rest, through } = refold
    fold.adopt((await world.manager.fold(ID, toSequence)).fold)
    refold = fold.apply(rest, through)
  }
  const { internal, ...view } = fold.view()
  return view
}

describe('a reader that resumes from a cursor', () => {
  test('law 3: gets exactly the surviving entries, and every cut of entries that it had', async () => {
    let retracted = 0
    await fc.assert(
      fc.asyncProperty(sessionActions, async actions => {
        const world = new World({ coalesceMs: 0 })
        const session = new RandomSession(world.manager, ID)
        await session.apply(actions)
        await session.release()
        const log = await world.log()
        const left = survivors(log).filter(entry => !isRetraction(entry))
        const { internal, ...view } = (await world.manager.view(ID)).view
        for (let from = 0; from < log.length; from++) {
          const seen = await readAfter(world, from)
          expect(seen.filter(entry => !isRetraction(entry))).toEqual(left.filter(({ sequence }) => sequence > from))
          const cuts = seen.filter(isRetraction)
          for (const entry of log.slice(from).filter(({ chunk }) => chunk.type === 'rewind')) {
            const { toSequence } = entry.chunk as unknown as { toSequence: number }
            expect(cuts.some(({ sequence }) => sequence === entry.sequence)).toBe(toSequence < from)
          }
          retracted += cuts.length
          const folded = await foldedOn(world, from, await readAfter(world, from, { rewound: true }), log.length)
          expect(folded).toEqual(view)
        }
      }),
      { numRuns: runs(15) },
    )
    expect(retracted).toBeGreaterThan(100)
  })

  test('law 3: inside a draft, gets the discard, whatever was written to the draft since', async () => {
    const world = new World({ coalesceMs: 0 })
    const writer = await world.writer()
    const { head: before } = (await world.manager.getInfo(ID)) as { head: number }
    const tool = writer.lane({ lane: 'tool' })
    await writer.write(delta('a')).appended
    await tool.write(delta('b', '2')).appended
    const { head: between } = (await world.manager.getInfo(ID)) as { head: number }
    await tool.write(delta('c', '2')).appended
    await writer.main.discard({ reason: 'again' })
    await tool.discard({ reason: 'again' })
    await writer.write(delta('d')).appended
    await tool.write(delta('e', '2')).appended
    await tool.discard({ reason: 'again' })
    const lines = async (after: number) => (await readAfter(world, after)).map(lineOf)
    // The last discard retracts nothing here: its lane had discarded since the cursor.
    expect(await lines(between)).toEqual(['step-discarded', 'tool: step-discarded', 'text-delta 1 d'])
    expect((await lines(before)).filter(line => line.startsWith('text'))).toEqual(['text-delta 1 d'])
    expect(await lines(0)).toEqual(['run-started', 'checkpoint-created', 'text-delta 1 d'])
  })

  test('law 3: does not get the end of a run that a rewind removed, although it had read the start', async () => {
    const world = new World({ coalesceMs: 0 })
    const writer = await world.writer('r1')
    await writer.write(delta('a')).appended
    const { head } = (await world.manager.getInfo(ID)) as { head: number }
    await world.manager.endStream(ID)
    await writer.close()
    await world.manager.append(ID, 'ada', request('r2', { cut: { toSequence: 0, reason: 'edit' } }))
    await (await world.writer('r2')).close()
    const types = (await readAfter(world, head)).map(({ chunk }) => chunk.type)
    expect(types).toEqual(['run-requested', 'rewind', 'run-started', 'checkpoint-created'])
  })
})

describe('law 8: in a long log with retractions', () => {
  const PAGES = 4

  /** A log of several pages, with a discard at its beginning and one close to its end. */
  async function long(): Promise<{ world: World; head: number }> {
    const world = new World({ coalesceMs: 0 })
    const writer = await world.writer()
    const discarded = async () => {
      await writer.write(delta('a')).appended
      await writer.main.discard({ reason: 'again' })
    }
    await discarded()
    for (let i = 0; i < PAGES * 16; i++) await writer.commit([{ type: 'status', message: 'x'.repeat(64 * 1024) }])
    await discarded()
    await writer.write(delta('b')).appended
    const { head } = (await world.manager.getInfo(ID)) as { head: number }
    world.tap.reset()
    return { world, head }
  }

  test('a reader at the head reads no entries, however often it resumes', async () => {
    const { world, head } = await long()
    for (let i = 0; i < 10; i++) expect(await readAfter(world, head, { rewound: true })).toEqual([])
    expect(world.tap.entries).toBe(0)
    expect(world.tap.count('read')).toBe(10)
  })

  test('a reader with a cursor reads the entries after it, once if they fit one page', async () => {
    const { world, head } = await long()
    // Whether the draft began before the cursor is unknown, so the reader gets the discard, which retracts nothing
    // from it.
    expect((await readAfter(world, head - 3)).map(lineOf)).toEqual(['step-discarded', 'text-delta 1 b'])
    expect(world.tap.entries).toBe(3)
  })

  test('a reader from the start reads its first page once, and the others for their retractions', async () => {
    const { world, head } = await long()
    const seen = await readAfter(world, 0)
    expect(seen.filter(({ chunk }) => isDraftChunk(chunk)).map(lineOf)).toEqual(['text-delta 1 b'])
    expect(world.tap.entries).toBeLessThan(2 * head - head / (2 * PAGES))
  })
})
