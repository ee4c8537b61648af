import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Chunk } from '../catalogue/chunk.ts'
import type { Entry } from '../entry/entry.ts'
import { MAIN, newFoldedLog } from './entries.fixture.ts'
import { Fold } from './fold.ts'
import { clone, folded, WRITERS } from './log.fixture.ts'
import { check } from './property.fixture.ts'
import type { Hook, View } from './view.ts'

const hook = (hookId: string, result = 0): Chunk => ({ type: 'hook-completed', hookId, hook: 'useStep', result })
const removal = (hookId: string): Chunk => ({ type: 'hook-completed', hookId, hook: 'node' })
const end: Chunk = { type: 'run-finished', status: 'completed' }
const OTHER = { ...MAIN, runId: 'r2', agentId: 'r2' }

const hooksOf = (view: View | undefined) =>
  view?.hooks.map(({ runId, hookId, result }) => `${runId} ${hookId} ${result}`)

describe('hooks', () => {
  test('a later hook with the same run and id replaces the earlier one', () => {
    const { write, fold } = newFoldedLog()
    write(hook('a', 1))
    write(hook('b', 2))
    write(hook('a', 3))
    write(hook('b/x', 4))
    write(hook('b/y', 5))
    write(hook('b/x', 6))
    write(hook('a', 7), OTHER)
    expect(hooksOf(fold.view())).toEqual(['r1 a 3', 'r1 b 2', 'r1 b/x 6', 'r1 b/y 5', 'r2 a 7'])
  })

  test('a hook without a slash in its id replaces all hooks below it in its run', () => {
    const { write, fold } = newFoldedLog()
    write(hook('a/1', 1))
    write(hook('a/1/2', 2))
    write(hook('ab/1', 3))
    write(hook('a/1', 4), OTHER)
    write(hook('a', 5))
    expect(hooksOf(fold.view())).toEqual(['r1 a 5', 'r1 ab/1 3', 'r2 a/1 4'])
    // Later hooks below it are kept beside it, until it is written again.
    write(hook('a/2', 6))
    expect(hooksOf(fold.view())).toEqual(['r1 a 5', 'r1 a/2 6', 'r1 ab/1 3', 'r2 a/1 4'])
    write(hook('a', 7))
    expect(hooksOf(fold.view())).toEqual(['r1 a 7', 'r1 ab/1 3', 'r2 a/1 4'])
  })

  test('a hook without a slash and without a result removes itself and all hooks below it', () => {
    const { write, fold } = newFoldedLog()
    write(hook('a/1', 1))
    write(hook('a', 2))
    write(hook('b/1', 3))
    write(hook('a/1', 4), OTHER)
    write(removal('a'))
    expect(hooksOf(fold.view())).toEqual(['r1 b/1 3', 'r2 a/1 4'])
    write(removal('b'))
    write(removal('c'))
    expect(hooksOf(fold.view())).toEqual(['r2 a/1 4'])
    // A hook with a slash is kept.
    write(removal('d/1'))
    expect(hooksOf(fold.view())).toEqual(['r2 a/1 4', 'r1 d/1 undefined'])
  })

  test('a hook with a slash in its id replaces only itself', () => {
    const { write, fold } = newFoldedLog()
    write(hook('a/1/2', 1))
    write(hook('a/1', 2))
    write(hook('a/', 3))
    expect(hooksOf(fold.view())).toEqual(['r1 a/1/2 1', 'r1 a/1 2', 'r1 a/ 3'])
  })

  test('the end of a run removes its hooks', () => {
    const { write, fold, reports } = newFoldedLog()
    write(hook('a', 1))
    write(hook('b/1', 2))
    write(hook('a', 3), OTHER)
    write(end)
    expect(hooksOf(fold.view())).toEqual(['r2 a 3'])
    write(hook('a', 4))
    expect(hooksOf(fold.view())).toEqual(['r2 a 3'])
    expect(reports).toEqual(['after-end'])
  })

  test('law 10: the public end of a run removes its internal hooks', () => {
    const { write, fold } = newFoldedLog()
    write(hook('a/1', 1), MAIN, true)
    write(hook('a', 2), MAIN, true)
    write(hook('a', 3), OTHER, true)
    write(hook('a', 4))
    expect(hooksOf(fold.view().internal)).toEqual(['r1 a 2', 'r2 a 3'])
    write(end)
    expect(hooksOf(fold.view())).toEqual([])
    expect(hooksOf(fold.view().internal)).toEqual(['r2 a 3'])
  })

  test('law 10: the end of a run removes the internal hooks of a restored view', () => {
    const { write, fold, log } = newFoldedLog()
    write(hook('a/1', 1), MAIN, true)
    const restored = Fold.from(clone(fold.view()))
    write(end)
    restored.apply(log.slice(1))
    expect(hooksOf(restored.view().internal)).toEqual([])
    expect(restored.view()).toEqual(fold.view())
  })

  test('later hooks do not change an earlier view', () => {
    const { write, fold } = newFoldedLog()
    write(hook('a/1', 1))
    const before = fold.view()
    const text = JSON.stringify(before)
    write(hook('a/1', 2))
    write(hook('a', 3))
    write(end)
    expect(JSON.stringify(before)).toBe(text)
  })

  test('law 11: the cost of removing hooks does not depend on the number of other hooks', () => {
    const count = 50_000
    const chunks = Array.from({ length: count }, (_, i) => [hook(`${i}/0`), hook(`${i}/1`)]).flat()
    const ends = Array.from({ length: count }, (_, i) => hook(`${i}`))
    const entries = [...chunks, ...ends].map((chunk, i): Entry => {
      return { sequence: i + 1, timestamp: 0, origin: MAIN, chunk, internal: true }
    })
    expect(folded(entries).internal?.hooks).toHaveLength(count)
  })
})

describe('hooks of any log', () => {
  const hookId = fc.constantFrom(
    'a',
    'b',
    '',
    'a/',
    'a/1',
    'a/2',
    'a/1/1',
    'b/1',
    '/1',
    'ab/1',
    '__proto__',
    '__proto__/1',
  )
  const arbitraryEntry = fc.record({
    from: fc.constantFrom(0, 1, 3),
    chunk: fc.oneof(
      { weight: 12, arbitrary: fc.tuple(hookId, fc.nat(9)).map(([id, result]) => hook(id, result)) },
      { weight: 3, arbitrary: hookId.map(removal) },
      { weight: 1, arbitrary: fc.constant(end) },
    ),
    internal: fc.boolean(),
  })
  const logs = fc.array(arbitraryEntry, { maxLength: 40, size: 'max' }).map(list =>
    list.map(({ from, chunk, internal }, i): Entry => {
      const isHidden = internal && chunk.type === 'hook-completed'
      return { sequence: i + 1, timestamp: i, origin: WRITERS[from], chunk, ...(isHidden && { internal: true }) }
    }),
  )

  /** A model of the rules over a plain list. */
  function expected(log: readonly Entry[], internal: boolean): string[] {
    let hooks: Pick<Hook, 'runId' | 'hookId' | 'result'>[] = []
    const ended = new Set<string>()
    for (const entry of log) {
      const { runId } = entry.origin as { runId: string }
      if (ended.has(runId)) continue
      const { chunk } = entry
      if (chunk.type === 'run-finished') {
        ended.add(runId)
        hooks = hooks.filter(hook => hook.runId !== runId)
      } else if (chunk.type === 'hook-completed' && (entry.internal ?? false) === internal) {
        const { hookId: id, result } = chunk
        const isGone = (one: (typeof hooks)[number]) =>
          one.runId === runId && (one.hookId === id || (!id.includes('/') && one.hookId.startsWith(`${id}/`)))
        hooks = hooks.filter(hook => !isGone(hook))
        const isOver = result === undefined && !id.includes('/')
        if (!isOver) hooks.push({ runId, hookId: id, ...(result !== undefined && { result }) })
      }
    }
    return hooks.map(hook => `${hook.runId} ${hook.hookId} ${hook.result}`).sort()
  }

  test('agree with a model of the rules', () => {
    check(
      fc.property(logs, log => {
        const view = folded(log)
        expect(hooksOf(view)?.sort()).toEqual(expected(log, false))
        expect(hooksOf(view.internal)?.sort() ?? []).toEqual(expected(log, true))
      }),
    )
  })

  test('a fold that continues from a view, as JSON, ends in the same view, including the order', () => {
    check(
      fc.property(logs, fc.nat(40), (log, n) => {
        const before = folded(log.slice(0, n))
        const fold = Fold.from(clone(before))
        expect(fold.view()).toEqual(before)
        fold.apply(log.slice(n))
        expect(fold.view()).toEqual(folded(log))
      }),
    )
  })
})
