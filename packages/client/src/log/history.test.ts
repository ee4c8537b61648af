import { type Entry, foldLog, type WriterOrigin } from '@millrace/protocol'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { multiplied } from '../../../../scripts/faults/campaign.ts'
import { History } from './history.ts'

/** A turn with some deltas. It may begin with a rewind, and its text may be discarded. */
type Turn = { readonly words: number; readonly back?: number | undefined; readonly isDiscarded: boolean }

const turns = fc.array(
  fc.record({
    words: fc.integer({ min: 1, max: 12 }),
    back: fc.option(fc.nat(100), { nil: undefined }),
    isDiscarded: fc.boolean(),
  }),
  { minLength: 1, maxLength: 12 },
)

/** A log of these turns. It skips sequences, as if some entries were hidden from this client. */
function logOf(list: readonly Turn[], gap: number): Entry[] {
  const log: Entry[] = []
  list.forEach(({ words, back, isDiscarded }, n) => {
    const runId = `r${n}`
    const origin: WriterOrigin = { runId, lane: 'main', agentId: runId, agentType: 'teller', step: 1 }
    const add = (chunk: Entry['chunk']) =>
      log.push({
        sequence: (log.at(-1)?.sequence ?? 0) + 1 + (log.length % gap === 0 ? 1 : 0),
        timestamp: 1,
        origin,
        chunk,
      })
    if (back !== undefined && log.length > 0) {
      add({ type: 'rewind', toSequence: (log[back % log.length] as Entry).sequence, reason: 'edit' })
    }
    add({ type: 'run-started', program: 'agent:teller@1' })
    add({ type: 'start' })
    add({ type: 'text-start', id: 't' })
    for (let word = 0; word < words; word++) add({ type: 'text-delta', id: 't', delta: `${n}.${word} ` })
    if (isDiscarded) add({ type: 'step-discarded', reason: 'retry' })
    else add({ type: 'text-end', id: 't' })
    add({ type: 'run-finished', status: 'completed' })
  })
  return log
}

describe('viewAt', () => {
  test('returns the fold up to any sequence, in any order, while the log grows', () => {
    const queries = fc.array(fc.tuple(fc.nat(400), fc.nat(400)), { minLength: 1, maxLength: 20 })
    const stride = fc.integer({ min: 1, max: 40 })
    fc.assert(
      fc.property(turns, fc.integer({ min: 2, max: 9 }), stride, queries, (list, gap, stride, queries) => {
        const log = logOf(list, gap)
        const history = new History(undefined, stride)
        let pushed = 0
        for (const [more, sequence] of queries) {
          history.push(log.slice(pushed, pushed + more))
          pushed = Math.min(log.length, pushed + more)
          const upTo = log.slice(0, pushed).filter(entry => entry.sequence <= sequence)
          expect(history.viewAt(sequence)).toEqual(foldLog(upTo).view())
          expect(history.indexAt(sequence)).toBe(upTo.length - 1)
        }
      }),
      { numRuns: multiplied(300) },
    )
  })

  test('continues from the base', () => {
    const log = logOf(
      [
        { words: 5, isDiscarded: false },
        { words: 5, isDiscarded: false },
      ],
      3,
    )
    const history = new History(foldLog(log.slice(0, 7)).view(), 2)
    history.push(log.slice(7))
    for (const { sequence } of log.slice(7)) {
      expect(history.viewAt(sequence)).toEqual(foldLog(log.filter(entry => entry.sequence <= sequence)).view())
    }
  })

  test('folds at most one stride per call when it steps backwards', () => {
    const log = logOf(
      Array.from({ length: 50 }, () => ({ words: 12, isDiscarded: false })),
      1000,
    )
    const history = new History(undefined, 64)
    history.push(log)
    let read = 0
    const counted = new History(undefined, 64)
    counted.push(
      log.map(entry => ({
        ...entry,
        get chunk() {
          read++
          return entry.chunk
        },
      })),
    )
    counted.viewAt(Number.MAX_SAFE_INTEGER)
    read = 0
    const last = log.at(-1)?.sequence ?? 0
    for (let back = 0; back < 10; back++) expect(counted.viewAt(last - back)).toEqual(history.viewAt(last - back))
    // Each call reads at most one stride of entries, each a few times.
    expect(read).toBeLessThan(10 * 64 * 8)
  })

  test('folds only new entries when it steps forwards', () => {
    const log = logOf(
      Array.from({ length: 50 }, () => ({ words: 12, isDiscarded: false })),
      1000,
    )
    let read = 0
    const counted = new History(undefined, 1_000_000)
    counted.push(
      log.map(entry => ({
        ...entry,
        get chunk() {
          read++
          return entry.chunk
        },
      })),
    )
    for (const { sequence } of log) counted.viewAt(sequence)
    expect(read).toBeLessThan(log.length * 8)
  })

  test('rejects a rewind to before the base, and still returns the views before the rewind', () => {
    const log = logOf(
      [
        { words: 5, isDiscarded: false },
        { words: 5, isDiscarded: false },
        { words: 5, isDiscarded: false, back: 2 },
      ],
      1000,
    )
    const history = new History(foldLog(log.slice(0, 12)).view())
    history.push(log.slice(12))
    const rewind = log.find(({ chunk }) => chunk.type === 'rewind')?.sequence ?? 0
    const before = log.filter(({ sequence }) => sequence < rewind)
    for (let times = 0; times < 2; times++) {
      expect(() => history.viewAt(rewind)).toThrow(expect.objectContaining({ code: 'invalid-view' }))
      expect(history.viewAt(rewind - 1)).toEqual(foldLog(before).view())
    }
  })
})
