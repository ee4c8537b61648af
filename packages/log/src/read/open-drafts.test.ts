import type { Entry, Usage } from '@millrace/protocol'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { delta, ID, World } from '../manager/manager-world.fixture.ts'
import { RandomSession, sessionActions } from '../manager/random-session.fixture.ts'
import type { StoredSnapshot } from '../store/log-store.ts'
import { openDrafts } from '../test/chaos/log-model.fixture.ts'
import { runs } from '../ticket/ticket-entries.fixture.ts'
import { LogHistory } from './log-history.ts'

const R1 = { runId: 'r1', agentType: 'assistant' }
const PAST = 4000
/** Enough for the entries since the snapshot. */
const FEW = 50

const finish = (inputTokens: number) => ({ type: 'step-finish', usage: { inputTokens }, finishReason: 'stop' }) as const

/** A long run of a dead writer with drafts from before and after a snapshot. */
async function orphan(): Promise<World> {
  const world = new World({ coalesceMs: 0 })
  const writer = await world.writer()
  for (let i = 0; i < PAST / 100; i++) {
    await writer.commit(Array.from({ length: 100 }, (_, n) => ({ type: 'status', message: `${i} ${n}` })))
  }
  const tool = writer.lane({ lane: 'tool', step: 7 })
  writer.write(delta('before', '1'), { step: 7 })
  writer.write(finish(5), { step: 7 })
  await tool.write({ type: 'data-progress', data: 1, transient: true }).appended
  const sealed = writer.lane({ lane: 'sealed' })
  await sealed.write(delta('kept', '2')).appended
  await world.manager.snapshot(ID)
  await sealed.commit([])
  await writer.write(delta(' and after', '1'), { step: 8 }).appended
  await writer.lane({ lane: 'late' }).write(delta('late', '3')).appended
  return world
}

interface Discarded {
  readonly lane: string | undefined
  readonly step: number | undefined
  readonly usage: Usage | undefined
}

/** The discards of a takeover. */
async function takenOver(world: World): Promise<Discarded[]> {
  const nextWriter = await world.process().createWriter(ID, { ...R1, takeover: true })
  await nextWriter.begin()
  const isDiscard = ({ chunk }: Entry) => chunk.type === 'step-discarded'
  return (await world.log()).filter(isDiscard).map(({ origin, chunk }) => {
    const { lane, step } = origin as { lane?: string; step?: number }
    return { lane, step, usage: (chunk as { usage?: Usage }).usage }
  })
}

const DISCARDED: readonly Discarded[] = [
  { lane: 'main', step: 7, usage: { inputTokens: 5 } },
  { lane: 'tool', step: 7, usage: undefined },
  { lane: 'late', step: 0, usage: undefined },
]

describe('a takeover', () => {
  test('reads only the entries after the nearest snapshot, and discards all open drafts with their usage', async () => {
    const world = await orphan()
    world.tap.reset()
    const nextWriter = await world.process().createWriter(ID, { ...R1, takeover: true })
    expect(world.tap.entries).toBeLessThan(FEW)
    await nextWriter.close()
    expect(await takenOver(world)).toEqual(DISCARDED)
    const { view } = await world.manager.view(ID)
    expect(view.runs[0]?.discarded).toEqual({ inputTokens: 5 })
    expect(view.drafts).toEqual([])
  })

  test('discards the same if the snapshot has no drafts', async () => {
    const world = await orphan()
    const { store } = world.tap
    const snapshot = (await store.getSnapshot(ID, Number.MAX_SAFE_INTEGER)) as StoredSnapshot
    const { drafts, ...rest } = JSON.parse(snapshot.body) as { drafts: unknown[] }
    expect(drafts).toHaveLength(3)
    await store.putSnapshot(ID, { ...snapshot, body: JSON.stringify(rest) }, 8)
    // A snapshot made from it has them again.
    await world.manager.snapshot(ID)
    expect(JSON.parse((await store.getSnapshot(ID, Number.MAX_SAFE_INTEGER))?.body ?? '').drafts).toHaveLength(3)
    expect(await takenOver(world)).toEqual(DISCARDED)
  })
})

test('the open drafts at any sequence match the entries, with and without snapshots', async () => {
  let open = 0
  await fc.assert(
    fc.asyncProperty(sessionActions, async actions => {
      const world = new World({ coalesceMs: 0 })
      const session = new RandomSession(world.manager, ID)
      await session.apply(actions)
      const past = new LogHistory(world.tap.store, ask => ask())
      const log = await world.log()
      for (let at = 0; at <= log.length; at += Math.ceil(log.length / 12) || 1) {
        const { drafts } = await past.openDrafts(ID, at)
        open += drafts.length
        const lanes = (origins: readonly { runId: string; lane: string; agentId: string }[]) =>
          origins.map(({ runId, lane, agentId }) => `${runId} ${lane} ${agentId}`).sort()
        expect(lanes(drafts.map(({ origin }) => origin))).toEqual(lanes(openDrafts(log.slice(0, at))))
        for (const { origin, from } of drafts) expect(log[from - 1]?.origin).toEqual(origin)
      }
      await session.release()
    }),
    { numRuns: runs(40) },
  )
  expect(open).toBeGreaterThan(20)
})
