import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isDraftChunk } from '../catalogue/catalogue.ts'
import type { Chunk } from '../catalogue/chunk.ts'
import { isGuest, type Origin, type WriterOrigin } from '../entry/entry.ts'
import { runs } from '../property-runs.fixture.ts'
import { DraftTracker, type EndedDrafts, type LaneDraft } from './draft-tracker.ts'

interface Written {
  readonly origin: Origin
  readonly chunk: Chunk
}

/** The number of chunks in a draft. */
interface ChunkCount {
  chunks: number
}

const origin = (runId = 'r1', lane = 'main', agentId = runId): WriterOrigin => ({
  runId,
  lane,
  agentId,
  agentType: 'agent',
  step: 1,
})
const delta: Chunk = { type: 'text-delta', id: 't', delta: 'a' }
const commit: Chunk = { type: 'checkpoint-created', checkpointId: 'c' }
const discard: Chunk = { type: 'step-discarded', reason: 'retry' }
const finish: Chunk = { type: 'run-finished', status: 'completed' }
const endOf = (agentId: string): Chunk => ({
  type: 'subagent-end',
  agentId,
  agentType: 'agent',
  toolCallId: 'call',
  status: 'completed',
})

const newTracker = () => new DraftTracker<ChunkCount>(() => ({ chunks: 0 }))

/** All drafts that an entry ended. */
const allOf = <Data, Lane>({ sealed, discarded }: EndedDrafts<Data, Lane>) =>
  discarded ? [...sealed, discarded] : sealed

/** Applies entries. Returns the lanes of the drafts that the last entry ended. */
function apply(tracker: DraftTracker<ChunkCount>, ...entries: Written[]): string[] {
  let ended: readonly LaneDraft<ChunkCount>[] = []
  for (const entry of entries) {
    ended = allOf(tracker.apply(entry))
    if (isDraftChunk(entry.chunk) && !isGuest(entry.origin)) {
      const draft = tracker.get(entry.origin)
      if (draft) draft.data.chunks++
    }
  }
  return ended.map(({ lane }) => lane.lane)
}

const open = (tracker: DraftTracker<ChunkCount>) => tracker.drafts.map(({ lane, data }) => [lane.lane, data.chunks])

describe('the draft of a lane', () => {
  it('opens with the first draft chunk of its lane and includes all later ones', () => {
    const tracker = newTracker()
    expect(apply(tracker, { origin: origin(), chunk: delta }, { origin: origin(), chunk: delta })).toEqual([])
    expect(open(tracker)).toEqual([['main', 2]])
  })

  it('is the same object for every draft chunk until it ends', () => {
    const tracker = newTracker()
    tracker.apply({ origin: origin(), chunk: delta })
    const draft = tracker.get(origin())
    tracker.apply({ origin: origin('r1', 'b'), chunk: delta })
    tracker.apply({ origin: origin(), chunk: delta })
    expect(tracker.get(origin())).toBe(draft)
    tracker.apply({ origin: origin(), chunk: commit })
    expect(tracker.get(origin())).toBeUndefined()
    tracker.apply({ origin: origin(), chunk: delta })
    expect(tracker.get(origin())).not.toBe(draft)
  })

  it.each([commit, discard])('ends with the $type of its own lane only', chunk => {
    const tracker = newTracker()
    for (const lane of ['a', 'b']) apply(tracker, { origin: origin('r1', lane), chunk: delta })
    expect(apply(tracker, { origin: origin('r1', 'a'), chunk })).toEqual(['a'])
    expect(apply(tracker, { origin: origin('r1', 'a'), chunk })).toEqual([])
    expect(open(tracker)).toEqual([['b', 1]])
  })

  it('is sealed by a commit and taken back by a discard', () => {
    const tracker = newTracker()
    for (const lane of ['a', 'b']) apply(tracker, { origin: origin('r1', lane), chunk: delta })
    const [a, b] = tracker.drafts
    expect(tracker.apply({ origin: origin('r1', 'a'), chunk: commit })).toEqual({ sealed: [a] })
    expect(tracker.apply({ origin: origin('r1', 'b'), chunk: discard })).toEqual({ sealed: [], discarded: b })
    expect(tracker.apply({ origin: origin('r1', 'b'), chunk: discard })).toEqual({ sealed: [] })
  })

  it('allocates nothing for a draft chunk or an entry of a guest', () => {
    const tracker = newTracker()
    const none = tracker.apply({ origin: origin(), chunk: delta })
    expect(tracker.apply({ origin: origin(), chunk: delta })).toBe(none)
    expect(tracker.apply({ origin: { guest: 'ann' }, chunk: commit })).toBe(none)
  })

  it('ends with its agent or its run', () => {
    const tracker = newTracker()
    for (const writer of [origin('r1', 'a'), origin('r1', 'b', 'child'), origin('r2', 'c')])
      apply(tracker, { origin: writer, chunk: delta })
    expect(apply(tracker, { origin: origin(), chunk: endOf('child') })).toEqual(['b'])
    expect(apply(tracker, { origin: origin(), chunk: finish })).toEqual(['a'])
    expect(open(tracker)).toEqual([['c', 1]])
  })

  it('is not opened or ended by a guest', () => {
    const tracker = newTracker()
    apply(tracker, { origin: origin(), chunk: delta })
    const guest: Origin = { guest: 'ann', runId: 'r1', lane: 'main' }
    for (const chunk of [delta, commit, discard, finish, endOf('r1')])
      expect(apply(tracker, { origin: guest, chunk })).toEqual([])
    expect(open(tracker)).toEqual([['main', 1]])
  })

  it('does not end with a rewind, a takeover or another committed chunk', () => {
    const tracker = newTracker()
    apply(tracker, { origin: origin(), chunk: delta })
    const committed: Chunk[] = [
      { type: 'rewind', toSequence: 0, reason: 'edit' },
      { type: 'executor-superseded' },
      { type: 'run-paused', awaits: [] },
      { type: 'tool-output-available', toolCallId: 'call', output: 1 },
    ]
    for (const chunk of committed) expect(apply(tracker, { origin: origin(), chunk })).toEqual([])
    expect(open(tracker)).toEqual([['main', 1]])
  })
})

it('the tracker agrees with a model that reads every entry, for any interleaving of lanes', () => {
  const ids = fc.constantFrom('r1', 'r2')
  const lanes = fc.constantFrom('a', 'b', '["')
  const agents = fc.constantFrom('r1', 'child')
  const origins: fc.Arbitrary<Origin> = fc.oneof(
    {
      weight: 9,
      arbitrary: fc.tuple(ids, lanes, agents).map(([runId, lane, agentId]) => origin(runId, lane, agentId)),
    },
    { weight: 1, arbitrary: fc.constant({ guest: 'ann', runId: 'r1', lane: 'a' }) },
  )
  const chunks = fc.constantFrom<Chunk[]>(delta, delta, delta, commit, discard, finish, endOf('child'), endOf('r1'))
  const same = (a: Origin, b: WriterOrigin) =>
    !isGuest(a) && a.runId === b.runId && a.lane === b.lane && a.agentId === b.agentId
  const ends = ({ origin: by, chunk }: Written, writer: WriterOrigin): boolean => {
    if (isGuest(by)) return false
    if (chunk.type === 'checkpoint-created' || chunk.type === 'step-discarded') return same(by, writer)
    if (chunk.type === 'subagent-end') return by.runId === writer.runId && chunk.agentId === writer.agentId
    return chunk.type === 'run-finished' && by.runId === writer.runId
  }
  fc.assert(
    fc.property(fc.array(fc.record({ origin: origins, chunk: chunks }), { maxLength: 40 }), entries => {
      const tracker = new DraftTracker<{ readonly from: number }, WriterOrigin>(() => ({ from: at }))
      let model: { readonly origin: WriterOrigin; readonly from: number }[] = []
      let at = 0
      for (const entry of entries) {
        at++
        const ended = tracker.apply(entry)
        const isDiscard = entry.chunk.type === 'step-discarded'
        expect(isDiscard ? ended.sealed : [ended.discarded]).toEqual(isDiscard ? [] : [undefined])
        expect(allOf(ended).map(({ data }) => data.from)).toEqual(
          model.filter(draft => ends(entry, draft.origin)).map(({ from }) => from),
        )
        model = model.filter(draft => !ends(entry, draft.origin))
        const { origin: by, chunk } = entry
        if (!isGuest(by) && isDraftChunk(chunk) && !model.some(draft => same(by, draft.origin)))
          model.push({ origin: by, from: at })
        expect(tracker.drafts.map(({ data }) => data.from)).toEqual(model.map(({ from }) => from))
        for (const { origin: writer, from } of model) expect(tracker.get(writer)?.data.from).toBe(from)
      }
    }),
    { numRuns: runs(200) },
  )
})
