import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Entry, WriterOrigin } from '../entry/entry.ts'
import { Fold } from './fold.ts'
import { foldLog } from './fold-log.ts'
import { folded, GUEST, WRITERS, writtenLog } from './log.fixture.ts'
import { check, visibleView } from './property.fixture.ts'
import type { View } from './view.ts'

describe('rewinds', () => {
  const end = (runId: string, sequence: number): Entry => ({
    sequence,
    timestamp: 5000,
    origin: { ...WRITERS[0], runId, agentId: runId },
    chunk: { type: 'run-finished', status: 'aborted' },
  })
  const renamed = (entry: Entry, sequence: number, n: number): Entry => {
    const runId = (id: string) => `${id}-${n}`
    const { origin } = entry
    const moved =
      'guest' in origin
        ? GUEST
        : { ...origin, runId: runId(origin.runId), agentId: origin.agentId.replace(/^r\d/, runId) }
    return { ...entry, sequence, origin: moved as WriterOrigin }
  }
  /** Several turns of two runs each. Each turn after the first starts with a rewind. */
  const turns = fc.array(fc.tuple(writtenLog, fc.nat(200)), { minLength: 2, maxLength: 4 }).map(list => {
    const log: Entry[] = []
    list.forEach(([turn, to], n) => {
      if (n > 0) {
        const sequence = log.length + 1
        const origin = { ...WRITERS[0], runId: `r1-${n}`, agentId: `r1-${n}` }
        log.push({
          sequence,
          timestamp: 5000,
          origin,
          chunk: { type: 'rewind', toSequence: to % sequence, reason: 'edit' },
        })
      }
      for (const entry of turn) log.push(renamed(entry, log.length + 1, n))
      log.push(end(`r1-${n}`, log.length + 1))
      log.push(end(`r2-${n}`, log.length + 1))
    })
    return log
  })

  /** Like a server: at each rewind it folds the prefix again and continues from there. */
  function step(log: readonly Entry[]): Fold {
    const fold = new Fold()
    for (let refold = fold.apply(log); refold; ) {
      const { toSequence, rest } = refold
      fold.adopt(foldLog(log.filter(entry => entry.sequence <= toSequence)))
      refold = fold.apply(rest)
    }
    return fold
  }

  /** The log without the rewound entries. At each rewind, drafts are discarded and nothing is left streaming. */
  function uncut(log: readonly Entry[]): Entry[] {
    const at = log.findLastIndex(entry => entry.chunk.type === 'rewind')
    if (at < 0) return [...log]
    const entry = log[at] as Entry
    const { toSequence } = entry.chunk as { toSequence: number }
    const kept = uncut(log.filter(({ sequence }) => sequence <= toSequence))
    const { drafts, runs: allRuns } = folded(kept)
    const discards = drafts.map(({ runId, lane, agentId }) => ({
      ...entry,
      origin: { ...WRITERS[0], runId, lane, agentId },
      chunk: { type: 'step-discarded' as const, reason: 'rewind' },
    }))
    const ends = allRuns.filter(run => run.finishedAt === undefined).map(run => end(run.runId, 0))
    const last = kept.at(-1)?.sequence ?? 0
    const closing = [...discards, ...ends].map((closed, i, all) => ({
      ...closed,
      sequence: last + (i + 1) / (all.length + 1) / 2,
    }))
    return [...kept, ...closing, ...log.slice(at + 1)]
  }

  test('folding again at each rewind equals folding the complete log in one pass', () => {
    check(
      fc.property(turns, log => {
        expect(step(log).view()).toEqual(foldLog(log).view())
      }),
      400,
    )
  })

  test('law 3: a rewind gives the view of a log without the removed entries, except for runs, requests, interrupts and usage', () => {
    check(
      fc.property(turns, log => {
        const pick = (view: View) => {
          const { messages, state, output, structured } = visibleView(view)
          return {
            messages: messages.map(({ status, error, parent, createdAt, ...message }) => message),
            state,
            output,
            structured,
          }
        }
        expect(pick(foldLog(log).view())).toEqual(pick(folded(uncut(log))))
      }),
      400,
    )
  })

  test('law 3: requests, answers and usage are never reverted', () => {
    check(
      fc.property(turns, log => {
        const { runs: all, requests, interrupts, usage } = foldLog(log).view()
        const flat = folded(log.filter(entry => entry.chunk.type !== 'rewind'))
        expect({ requests, interrupts, usage }).toEqual({
          requests: flat.requests,
          interrupts: flat.interrupts,
          usage: flat.usage,
        })
        expect(all.map(run => [run.runId, run.status])).toEqual(flat.runs.map(run => [run.runId, run.status]))
      }),
      400,
    )
  })
})
