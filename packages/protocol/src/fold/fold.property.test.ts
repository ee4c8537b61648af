import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isGuestChunk } from '../catalogue/catalogue.ts'
import { coalesce } from '../entry/coalesce.ts'
import type { Entry } from '../entry/entry.ts'
import { checkEntry } from '../validate/validate.ts'
import { Fold } from './fold.ts'
import type { TextMark } from './growing-text.ts'
import { anyLog, clone, folded, GUEST, WRITERS, withoutDiscarded, writtenLog } from './log.fixture.ts'
import { check, content } from './property.fixture.ts'
import type { TextPart, View } from './view.ts'

const batches = fc.array(fc.nat(6), { maxLength: 30 })

describe('the fold', () => {
  test('the generators create valid entries', () => {
    check(
      fc.property(fc.oneof(anyLog, writtenLog), log => log.every(entry => checkEntry(entry) === undefined)),
      500,
    )
  })

  test('law 9: accepts every sequence of valid entries, and the view is plain JSON', () => {
    check(
      fc.property(anyLog, log => {
        const view = folded(log)
        expect(view).toStrictEqual(clone(view))
      }),
    )
  })

  test('law 11: any split into batches, with reads between, gives the same view, and earlier reads never change', () => {
    check(
      fc.property(anyLog, batches, (log, sizes) => {
        const fold = new Fold()
        const held: [View, string][] = []
        let at = 0
        for (const size of sizes) {
          fold.apply(log.slice(at, at + size))
          at += size
          const view = fold.view()
          expect(fold.structuredIds.map(id => fold.structured(id))).toEqual(view.structured)
          held.push([view, JSON.stringify(view)])
        }
        fold.apply(log.slice(at))
        expect(fold.view()).toEqual(folded(log))
        for (const [view, text] of held) expect(JSON.stringify(view)).toBe(text)
      }),
    )
  })

  test('unchanged objects keep their identity, and changes are reported', () => {
    check(
      fc.property(anyLog, log => {
        const fold = new Fold()
        const parts = () =>
          new Map(
            fold.messageIds.flatMap(id =>
              (fold.message(id)?.parts ?? []).map(part => [`${id} ${part.key}`, part] as const),
            ),
          )
        let before = parts()
        let texts = new Map([...before].map(([key, part]) => [key, JSON.stringify(part)]))
        let ids = fold.messageIds
        for (const entry of log) {
          fold.apply([entry])
          const { messages, order } = fold.takeChanges()
          const changedKeys = new Set([...messages].flatMap(([id, keys]) => [...keys].map(key => `${id} ${key}`)))
          const now = parts()
          for (const [key, part] of now) {
            if (before.get(key) !== part) expect(changedKeys).toContain(key)
            if (before.has(key) && texts.get(key) !== JSON.stringify(part)) expect(before.get(key)).not.toBe(part)
          }
          for (const id of fold.messageIds) expect(fold.message(id)).toBe(fold.message(id))
          if (fold.messageIds !== ids) expect(order).toBe(true)
          ids = fold.messageIds
          before = now
          texts = new Map([...now].map(([key, part]) => [key, JSON.stringify(part)]))
        }
      }),
      500,
    )
  })

  test('law 2: a repeated entry counts once', () => {
    check(
      fc.property(anyLog, fc.array(fc.nat(60), { maxLength: 10 }), (log, again) => {
        const repeated = log.flatMap((entry, i) =>
          again.includes(i) ? [entry, ...log.slice(Math.max(0, i - 2), i + 1)] : [entry],
        )
        const reports: string[] = []
        const fold = new Fold({ onReport: ({ code }) => code === 'repeated' && reports.push(code) })
        fold.apply(repeated)
        expect(fold.view()).toEqual(folded(log))
        expect(reports).toHaveLength(repeated.length - log.length)
      }),
      500,
    )
  })

  test('a fold that continues from a view, as JSON, ends in the same view, including inverses', () => {
    check(
      fc.property(anyLog, fc.nat(60), (log, n) => {
        const fold = Fold.from(clone(folded(log.slice(0, n))))
        expect(fold.view()).toEqual(folded(log.slice(0, n)))
        fold.apply(log.slice(n))
        expect(fold.view()).toEqual(folded(log))
      }),
    )
  })

  test('fold(coalesce(x)) = fold(x), in batches of any size, for any interleaving of lanes', () => {
    check(
      fc.property(anyLog, fc.integer({ min: 1, max: 40 }), (log, size) => {
        const fold = new Fold()
        for (let i = 0; i < log.length; i += size) {
          const batch = log.slice(i, i + size)
          fold.apply(coalesce(batch), (batch.at(-1) as Entry).sequence)
        }
        expect(fold.view()).toEqual(folded(log))
      }),
      1500,
    )
  })

  test('law 3: a discard gives the view of a log without that draft, for any writes of other lanes and guests', () => {
    check(
      fc.property(writtenLog, log => {
        expect(content(folded(log))).toEqual(content(folded(withoutDiscarded(log))))
      }),
      1500,
    )
  })

  test('law 3: committed chunks in the middle of a draft survive its discard', () => {
    check(
      fc.property(anyLog, any => {
        const refused = new Set<number>()
        new Fold({ onReport: ({ code, entry }) => code === 'foreign-draft' && refused.add(entry.sequence) }).apply(any)
        const log = any.filter(entry => !refused.has(entry.sequence))
        expect(content(folded(log))).toEqual(content(folded(withoutDiscarded(log))))
      }),
    )
  })

  test('law 3: a replay without discarded drafts can follow a snapshot inside one', () => {
    check(
      fc.property(writtenLog, fc.nat(60), (log, n) => {
        const kept = new Set(withoutDiscarded(log).map(entry => entry.sequence))
        const fold = Fold.from(clone(folded(log.slice(0, n))))
        fold.apply(log.slice(n).filter(entry => kept.has(entry.sequence)))
        expect(content(fold.view())).toEqual(content(folded(log)))
      }),
    )
  })

  test('after a commit a discard changes nothing', () => {
    check(
      fc.property(anyLog, log => {
        const commits = WRITERS.map(
          (origin, i): Entry => ({
            sequence: log.length + 1 + i,
            timestamp: 5000,
            origin,
            chunk: { type: 'checkpoint-created', checkpointId: 'x' },
          }),
        )
        expect(folded([...log, ...commits]).drafts).toEqual([])
      }),
    )
  })

  test('law 7: after the end of a run nothing of it streams, and later chunks are dropped', () => {
    check(
      fc.property(anyLog, anyLog, (log, more) => {
        const sequence = log.length + 1
        const end: Entry = {
          sequence,
          timestamp: 5000,
          origin: WRITERS[0],
          chunk: { type: 'run-finished', status: 'completed' },
        }
        const view = folded([...log, end])
        const ofRun = (v: View) => v.messages.filter(message => message.runId === 'r1')
        for (const message of ofRun(view)) {
          expect(message.status).not.toBe('streaming')
          for (const part of message.parts) {
            if (/^(text|reasoning|tool|dynamic-tool)$/.test(part.type))
              expect((part as TextPart).state).not.toMatch(/streaming|input-available|approval/)
          }
        }
        expect(
          view.pendings.filter(p =>
            p.kind === 'interrupt' ? p.interrupt.runId === 'r1' : p.messageId.startsWith('r1::'),
          ),
        ).toEqual([])
        const rest = more.map((entry, i) => ({ ...entry, sequence: sequence + 1 + i }))
        expect(ofRun(folded([...log, end, ...rest]))).toEqual(ofRun(view))
      }),
      500,
    )
  })

  test('a text equals the joined growth that a reader gets', () => {
    check(
      fc.property(anyLog, fc.array(fc.integer({ min: 1, max: 5 }), { maxLength: 40 }), (log, sizes) => {
        const fold = new Fold()
        const readers = new Map<string, { mark: TextMark; text: string }>()
        let at = 0
        for (const size of [...sizes, log.length]) {
          fold.apply(log.slice(at, at + size))
          at += size
          for (const id of fold.messageIds) {
            for (const part of fold.message(id)?.parts ?? []) {
              const key = `${id} ${part.key}`
              const reader = readers.get(key)
              const gained = fold.textSince(id, part.key, reader?.mark)
              if (gained === undefined) continue
              const text = gained.reset ? gained.text : `${reader?.text}${gained.text}`
              readers.set(key, { mark: gained.mark, text })
              expect(text).toBe('text' in part ? part.text : 'inputText' in part ? part.inputText : '')
            }
          }
        }
      }),
      500,
    )
  })

  test('law 10: an internal entry appears only in view.internal', () => {
    check(
      fc.property(writtenLog, fc.array(fc.boolean(), { minLength: 60, maxLength: 60 }), (log, marks) => {
        const never = /^(checkpoint|step-disc|subagent|run-(started|finished|paused|resumed)|rewind|executor)/
        const hidden = log.map(
          (entry, i): Entry =>
            marks[i] && !never.test(entry.chunk.type) && !('guest' in entry.origin && isGuestChunk(entry.chunk.type))
              ? { ...entry, internal: true }
              : entry,
        )
        const { internal, ...view } = folded(hidden)
        const open = hidden.filter(entry => !entry.internal)
        expect({ ...view, head: 0 }).toEqual({ ...folded(open), head: 0 })
        expect(JSON.stringify(view)).not.toContain('internal')
      }),
      500,
    )
  })
})

describe('the properties catch mutants', () => {
  const isCaught = <Ts extends [unknown, ...unknown[]]>(property: fc.IPropertyWithHooks<Ts>) =>
    expect(fc.check(property, { numRuns: 20_000, endOnFailure: true }).failed).toBe(true)

  /** `coalesce` with some types replaced by a guest's chunk of an unknown type. */
  const blindTo = (types: RegExp) => (log: readonly Entry[]) => {
    const hidden = log.map(entry =>
      types.test(entry.chunk.type) ? { ...entry, origin: GUEST, chunk: { type: 'x' } as never } : entry,
    )
    return coalesce(hidden).map(entry =>
      entry.origin === GUEST ? (log.find(({ sequence }) => sequence === entry.sequence) as Entry) : entry,
    )
  }
  const merges = (merge: (log: readonly Entry[]) => Entry[]) =>
    fc.property(anyLog, log => {
      const fold = new Fold()
      fold.apply(merge(log), log.length)
      expect(fold.view()).toEqual(folded(log))
    })

  test('catches a merge over the end of a run or agent', () =>
    isCaught(merges(blindTo(/^(run-finished|subagent-end)$/))))

  test('catches a merge that ignores that a delta was refused before another lane committed', () =>
    isCaught(merges(blindTo(/^checkpoint-created$/))))

  test('catches a merge over a discard', () => isCaught(merges(blindTo(/^step-discarded$/))))

  test('catches a discard that reverts the writes of another lane', () =>
    isCaught(
      fc.property(writtenLog, log => {
        let fold = new Fold()
        const before = new Map<string, View>()
        for (const entry of log) {
          const key = 'guest' in entry.origin ? '' : `${entry.origin.runId} ${entry.origin.lane}`
          const { type } = entry.chunk
          if (key && !before.has(key)) before.set(key, clone(fold.view()))
          if (type === 'step-discarded') fold = Fold.from(before.get(key) as View)
          else fold.apply([entry])
          if (type === 'checkpoint-created' || type === 'step-discarded') before.delete(key)
        }
        expect(content(fold.view())).toEqual(content(folded(withoutDiscarded(log))))
      }),
    ))
})
