import { type Entry, foldLog, type WriterOrigin } from '@millrace/protocol'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { multiplied } from '../../../../scripts/faults/campaign.ts'
import { History } from './history.ts'

/** What a turn does beside saying some words: nothing, take back an earlier place, or have its words thrown away. */
type Turn = { readonly words: number; readonly back?: number | undefined; readonly isDiscarded: boolean }

const turns = fc.array(
  fc.record({
    words: fc.integer({ min: 1, max: 12 }),
    back: fc.option(fc.nat(100), { nil: undefined }),
    isDiscarded: fc.boolean(),
  }),
  { minLength: 1, maxLength: 12 },
)

/** A log of such turns; some sequences are left out, as where others may see more. */
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

describe('what a session was at a sequence is the fold up to there', () => {
  test('at any, asked for in any order, while the log grows', () => {
    const asked = fc.array(fc.tuple(fc.nat(400), fc.nat(400)), { minLength: 1, maxLength: 20 })
    const stride = fc.integer({ min: 1, max: 40 })
    fc.assert(
      fc.property(turns, fc.integer({ min: 2, max: 9 }), stride, asked, (list, gap, stride, asked) => {
        const log = logOf(list, gap)
        const history = new History(undefined, stride)
        let given = 0
        for (const [more, sequence] of asked) {
          history.push(log.slice(given, given + more))
          given = Math.min(log.length, given + more)
          const upTo = log.slice(0, given).filter(entry => entry.sequence <= sequence)
          expect(history.viewAt(sequence)).toEqual(foldLog(upTo).view())
          expect(history.indexAt(sequence)).toBe(upTo.length - 1)
        }
      }),
      { numRuns: multiplied(300) },
    )
  })

  test('goes on from what came before its first entry', () => {
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

  test('what lies far back is not folded again for each step', () => {
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
    // Some reads of each entry, of at most a stride of them, each time.
    expect(read).toBeLessThan(10 * 64 * 8)
  })

  test('who goes on from where it was folds just what lies between', () => {
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

  test('a rewind to before what it begins with is refused, and what lies before that can still be had', () => {
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
