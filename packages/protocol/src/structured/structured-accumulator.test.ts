import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { StructuredDataChunk } from '../catalogue/guards.ts'
import { ProtocolError } from '../error/protocol-error.ts'
import type { Json } from '../json/json.ts'
import { runs } from '../property-runs.fixture.ts'
import { anyChunk, append, final, set, text } from './chunks.fixture.ts'
import { reduceStructuredChunks } from './reducer.ts'
import { StructuredAccumulator } from './structured-accumulator.ts'
import { applyNaively, clone, freeze, pathsOf, unsetIn } from './structured-model.fixture.ts'
import type { StructuredState } from './structured-state.ts'

const written = (...chunks: StructuredDataChunk[]) => {
  const accumulator = new StructuredAccumulator()
  for (const chunk of chunks) accumulator.write(chunk)
  return accumulator
}
/** Committed chunks, then a draft. */
const drafted = (committed: StructuredDataChunk[], draft: StructuredDataChunk[]) => {
  const accumulator = written(...committed)
  accumulator.commit()
  for (const chunk of draft) accumulator.write(chunk)
  return accumulator
}
const inverses = (accumulator: StructuredAccumulator) => accumulator.snapshot().draft

/** The number of array elements that a function copies. */
function copied(run: () => void): number {
  const { slice } = Array.prototype
  let elements = 0
  Array.prototype.slice = function (this: unknown[], ...range) {
    const copy = slice.apply(this, range)
    elements += copy.length
    return copy
  }
  try {
    run()
  } finally {
    Array.prototype.slice = slice
  }
  return elements
}

type Event = StructuredDataChunk | 'commit' | 'discard' | 'invalidate' | 'read' | 'restore'
const anyEvent: fc.Arbitrary<Event> = fc.oneof(
  { weight: 12, arbitrary: anyChunk },
  { weight: 2, arbitrary: fc.constantFrom<Event>('commit', 'discard', 'read') },
  { weight: 1, arbitrary: fc.constantFrom<Event>('invalidate', 'restore') },
)

/** Runs events on an accumulator and on the simple model, whose discard restores the clone from the commit. */
function follow(events: readonly Event[]): void {
  let accumulator = new StructuredAccumulator()
  let now: StructuredState | undefined
  let committed: StructuredState | undefined
  const held: { state: StructuredState; json: string }[] = []

  const check = () => {
    const state = accumulator.read()
    expect(state && { ...state, unset: undefined }).toEqual(clone(now))
    expect(JSON.stringify(state?.data)).toBe(JSON.stringify(now?.data))
    expect(pathsOf(state?.unset).sort()).toEqual(unsetIn(now?.data).sort())
    expect(accumulator.read()).toBe(state)
    // Frozen, so that a later write in place throws. Compared at the end.
    if (state) held.push({ state: freeze(state), json: JSON.stringify(state) })
  }

  for (const event of events) {
    if (typeof event === 'object') {
      let actual: string | undefined
      let wanted: string | undefined
      try {
        accumulator.write(event)
      } catch (error) {
        actual = error instanceof ProtocolError ? error.code : String(error)
      }
      try {
        now = applyNaively(now, event)
      } catch (error) {
        wanted = String(error)
      }
      expect(actual).toBe(wanted)
    } else if (event === 'commit') {
      accumulator.commit()
      committed = now
    } else if (event === 'discard') {
      accumulator.discard()
      now = committed
    } else if (event === 'invalidate') {
      accumulator.invalidate()
      now = undefined
    } else if (event === 'restore') {
      const snapshot = clone(accumulator.snapshot())
      accumulator = StructuredAccumulator.restore(freeze(snapshot))
      expect(accumulator.snapshot()).toEqual(snapshot)
    } else {
      check()
    }
  }
  check()
  // No path has two inverses of one kind, and none is below one that already restores it.
  const inverseList = accumulator.snapshot().draft ?? []
  const changedPaths = inverseList.map(
    ({ path, length }) => `${length === undefined ? 'replaced' : 'truncated'} ${path}`,
  )
  expect(new Set(changedPaths).size).toBe(changedPaths.length)
  for (const [i, { path }] of inverseList.entries()) {
    const above = inverseList.slice(0, i).filter(inverse => inverse.length === undefined)
    expect(above.some(inverse => inverse.path === '' || `${path}.`.startsWith(`${inverse.path}.`))).toBe(false)
  }
  accumulator.discard()
  now = committed
  check()
  for (const { state, json } of held) expect(JSON.stringify(state)).toBe(json)
}

describe('compared with the simple model', () => {
  it('any events give the same values and errors, a discard equals never written, and earlier reads never change', () => {
    fc.assert(fc.property(fc.array(anyEvent, { maxLength: 30 }), follow), { numRuns: runs(800) })
  }, 120_000)

  it('long drafts give the same values and errors', () => {
    fc.assert(fc.property(fc.array(anyChunk, { minLength: 50, maxLength: 120 }), follow), { numRuns: runs(60) })
  }, 120_000)

  it.each<[string, Event[]]>([
    [
      'a truncated array, a write before the cut, then the array replaced',
      [append('a', [{}, 1]), 'commit', append('a', [2]), set('a.0.b', 1), set('a', 'x'), 'discard'],
    ],
    [
      'an array emptied of its draft is still an array',
      [append('a', []), 'commit', append('a', [1]), set('a', {}), 'discard'],
    ],
    ['gaps are cut away', [append('a', [1]), 'commit', set('a.5.b', 1), set('a.3', 2), 'discard']],
    ['an own __proto__ is removed again', [set('a', 1), 'commit', set('__proto__.x', 1), 'read', 'discard']],
    ['a final, discarded, lets the stream go on', [set('a', 1), 'commit', final([]), 'read', 'discard', set('a', 2)]],
    [
      'invalidated, built anew, discarded',
      [set('a', 1), 'commit', set('b', 1), 'invalidate', final(1), 'invalidate', set('c', 1), 'discard'],
    ],
    ['invalidated and committed', [set('a', 1), 'commit', 'invalidate', 'commit', set('c', 1), 'discard']],
    [
      'restored in the middle',
      [
        append('a', ['x']),
        'commit',
        text('a.0', 'y'),
        append('a', [1]),
        'restore',
        text('a.0', 'z'),
        set('a.1', 2),
        'discard',
      ],
    ],
  ])('%s', (_, events) => follow(events))
})

/** The writes of the leaves of a document: `set`, or the text in two deltas. */
function writesOf(value: Json, path: string): StructuredDataChunk[][] {
  if (typeof value === 'string') return [[text(path, value.slice(0, 1)), text(path, value.slice(1))]]
  const below = typeof value === 'object' && value !== null ? Object.entries(value) : []
  return below.length ? below.flatMap(([key, item]) => writesOf(item, `${path}.${key}`)) : [[set(path, value)]]
}
const { document } = fc.letrec<{ document: Json }>(tie => ({
  document: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    fc.constantFrom<Json>('word', 7, null, [], {}),
    fc.array(tie('document'), { maxLength: 5 }),
    fc.dictionary(fc.constantFrom('a', 'b', '__proto__'), tie('document')),
  ),
}))

it('the writes of a document give it in any order, through snapshots as JSON and discarded drafts', () => {
  const steps = fc.array(fc.tuple(fc.nat(), fc.constantFrom('read', 'commit', 'discard', 'restore')))
  fc.assert(
    fc.property(document, steps, (value, choices) => {
      let accumulator = new StructuredAccumulator()
      let drafted: StructuredDataChunk[] = []
      const waiting = writesOf(value, 'doc')
      for (let i = 0; waiting.length; i++) {
        const [choice, step] = choices[i] ?? [0, 'read']
        const at = choice % waiting.length
        const next = waiting[at]?.shift() as StructuredDataChunk
        if (!waiting[at]?.length) waiting.splice(at, 1)
        accumulator.write(next)
        drafted.push(next)
        if (step === 'restore') accumulator = StructuredAccumulator.restore(freeze(clone(accumulator.snapshot())))
        if (step === 'discard') {
          accumulator.discard()
          for (const chunk of drafted) accumulator.write(chunk)
        }
        if (step === 'commit') {
          accumulator.commit()
          drafted = []
        }
      }
      const state = accumulator.read()
      expect(state?.data).toEqual({ doc: value })
      expect(pathsOf(state?.unset)).toEqual([])
    }),
    { numRuns: runs(1000) },
  )
}, 120_000)

describe('write', () => {
  it('an error changes nothing, not even the draft', () => {
    const accumulator = drafted([set('a', 1), append('l', [1])], [])
    const state = accumulator.read()
    for (const bad of [
      set('a.b', 1),
      text('l', 'x'),
      set('l.9999', 1),
      set('new.5000.x', 1),
      set('..', 1),
      set('b', 1, { streamId: 't' }),
    ]) {
      expect(() => accumulator.write(bad)).toThrow(ProtocolError)
    }
    expect(accumulator.snapshot()).toEqual({ state, draft: [] })
    expect(accumulator.read()).toBe(state)
  })

  it('rejects an invalid path, also the second time', () => {
    for (const path of ['', undefined, null, {}] as string[]) {
      const accumulator = written()
      for (let i = 0; i < 2; i++) expect(() => accumulator.write(set(path, 1))).toThrow(/^path /)
      expect(accumulator.read()).toBeUndefined()
    }
  })

  it('a rejected first chunk creates nothing', () => {
    const accumulator = new StructuredAccumulator()
    expect(() => accumulator.write(set('a.2000', 1))).toThrow(ProtocolError)
    expect(accumulator.read()).toBeUndefined()
    expect(accumulator.snapshot()).toEqual({ draft: [] })
    accumulator.write(set('a', 1, { streamId: 'any' }))
    expect(accumulator.read()?.streamId).toBe('any')
  })

  it('does not change its input', () => {
    const items = [{ n: 1 }]
    const accumulator = new StructuredAccumulator()
    accumulator.write({ type: 'structured-data', streamId: 's', dataType: 'd', kind: 'append', path: 'l', items })
    accumulator.write(set('l.0.n', 2))
    accumulator.write(append('l', [3]))
    expect(items).toEqual([{ n: 1 }])
    expect(accumulator.read()?.data).toEqual({ l: [{ n: 2 }, 3] })
  })
})

describe('read', () => {
  it('returns the same state until something changes, and shares unchanged values', () => {
    const accumulator = written(set('a.x', 1), set('b.x', 1))
    const first = accumulator.read() as StructuredState
    accumulator.write(set('a.x', 1))
    accumulator.commit()
    expect(accumulator.read()).toBe(first)
    accumulator.write(set('a.x', 2))
    const second = accumulator.read() as StructuredState
    expect(first.data).toEqual({ a: { x: 1 }, b: { x: 1 } })
    expect(second.data).toEqual({ a: { x: 2 }, b: { x: 1 } })
    expect((second.data as { b: Json }).b).toBe((first.data as { b: Json }).b)
    accumulator.write(set('a.x', 2, { node: 'n' }))
    expect(accumulator.read()).toEqual({ ...second, node: 'n' })
    expect(accumulator.read()?.data).toBe(second.data)
  })
})

describe('the draft', () => {
  it('has a length, an old value or only a path', () => {
    const accumulator = drafted(
      [set('o', { k: 'old' }), append('l', [1, 2]), text('t', 'abc')],
      [append('l', [3]), text('t', 'd'), set('o.k', 'new'), set('o.made.deep', 1), set('l.3.x', 1), set('l.0', 9)],
    )
    expect(inverses(accumulator)).toEqual([
      { path: '.data.l', length: 2 },
      { path: '.data.t', length: 3 },
      { path: '.data.o.k', old: 'old' },
      { path: '.data.o.made' },
      { path: '.data.l.0', old: 1 },
    ])
  })

  it('reverts keys that look like numbers but are not indexes', () => {
    for (const key of ['Infinity', '1e999', '-1', 'NaN']) {
      const accumulator = drafted([set('a', {}), set('Infinity', 1)], [set(`a.${key}`, 1), set(`${key}`, 2)])
      accumulator.discard()
      expect(accumulator.read()?.data).toEqual({ a: {}, Infinity: 1 })
    }
  })

  it('is empty if nothing changed', () => {
    const accumulator = drafted([set('a', 1), append('l', [1])], [set('a', 1), append('l', [])])
    expect(inverses(accumulator)).toEqual([])
  })

  it('continues from a snapshot', () => {
    const chunks = [append('l', [2]), set('o.k', 2), set('o.new', 1)]
    const accumulator = drafted([append('l', [1]), set('o.k', 1)], chunks)
    const snapshot = clone(accumulator.snapshot())
    const restored = StructuredAccumulator.restore(snapshot)
    for (const chunk of [...chunks, set('l.1', 3), set('o.new', {})]) restored.write(chunk)
    expect(restored.snapshot().draft).toEqual(snapshot.draft)
  })

  it('reverts a write to an unset item', () => {
    const accumulator = drafted([set('l.2', 1)], [set('l.0.x', 1), text('l.1', 'y'), set('l', 5)])
    const restored = StructuredAccumulator.restore(clone(accumulator.snapshot()))
    for (const one of [accumulator, restored]) {
      one.discard()
      expect(one.read()).toMatchObject({ data: { l: [null, null, 1] }, unset: { l: { 0: true, 1: true } } })
      one.write(text('l.0', 'x'))
      expect(one.read()?.data).toEqual({ l: ['x', null, 1] })
    }
  })

  it('has one inverse for a gap in a new array', () => {
    const accumulator = drafted([set('a', 1)], [set('l.1000', 1), set('k.1000', 1), text('l.5', 'x')])
    expect(inverses(accumulator)).toEqual([{ path: '.data.l' }, { path: '.unset' }, { path: '.data.k' }])
  })

  it('keeps the nulls of a snapshot without `unset`, which older versions wrote', () => {
    const { state } = clone(written(set('l.1', 1)).snapshot())
    const { unset, ...older } = state as StructuredState
    const restored = StructuredAccumulator.restore({ state: older })
    expect(() => restored.write(text('l.0', 'x'))).toThrow('found null')
    restored.write(set('l.0', 'x'))
    expect(restored.read()?.data).toEqual({ l: ['x', 1] })
  })

  it('has no inverses inside an object that it created', () => {
    const accumulator = written(set('a', 1), set('a', 2), final({}))
    expect(inverses(accumulator)).toEqual([{ path: '' }])
    accumulator.discard()
    expect(accumulator.read()).toBeUndefined()
    expect(accumulator.snapshot()).toEqual({ draft: [] })
  })

  it('keeps an old value by reference', () => {
    const big = freeze({ list: [1, 2, 3] })
    const accumulator = drafted([set('big', big)], [set('big', 0)])
    expect(inverses(accumulator)?.[0]?.old).toBe(big)
    const removed = drafted([set('big', big)], [])
    const state = removed.read()
    removed.invalidate()
    expect(inverses(removed)).toEqual([{ path: '', old: state }])
    expect(inverses(removed)?.[0]?.old).toBe(state)
  })

  it('law 11: repeated writes to the same paths add no inverses', () => {
    const accumulator = drafted([text('t', 'x'), set('a.b', 0), append('l', [0]), set('o', {})], [])
    for (let i = 0; i < 20_000; i++) {
      accumulator.write(text('t', 'y'))
      accumulator.write(set('a.b', i % 2 ? [] : -i - 1))
      accumulator.write(append('l', [i]))
      accumulator.write(set(`l.${i + 1}`, 'z'))
      accumulator.write(set(`o.made.${i % 5}`, i))
    }
    expect(inverses(accumulator)).toEqual([
      { path: '.data.t', length: 1 },
      { path: '.data.a.b', old: 0 },
      { path: '.data.l', length: 1 },
      { path: '.data.o.made' },
    ])
    accumulator.discard()
    expect(accumulator.read()?.data).toEqual({ t: 'x', a: { b: 0 }, l: [0], o: {} })
  })

  it('restores metadata and status', () => {
    const accumulator = drafted(
      [set('a', 1, { node: 'n' })],
      [set('a', 1, { node: 'm', id: 'i', dataType: 'e' }), final(2, { dataType: 'e' })],
    )
    expect(accumulator.read()).toMatchObject({ status: 'done', node: 'm', id: 'i', dataType: 'e' })
    expect(inverses(accumulator)).toEqual([
      { path: '.dataType', old: 'd' },
      { path: '.id' },
      { path: '.node', old: 'n' },
      { path: '.data', old: { a: 1 } },
      { path: '.status', old: 'streaming' },
    ])
    accumulator.discard()
    expect(accumulator.read()).toEqual({ streamId: 's', dataType: 'd', status: 'streaming', data: { a: 1 }, node: 'n' })
  })

  it('a snapshot does not change with later writes, and is plain JSON', () => {
    const accumulator = drafted([set('a', { x: 1 }), append('l', [1])], [set('a.x', 2), append('l', [2])])
    const snapshot = freeze(accumulator.snapshot())
    const json = JSON.stringify(snapshot)
    accumulator.write(set('a.y', 1))
    accumulator.write(append('l', [3]))
    accumulator.discard()
    expect(JSON.stringify(snapshot)).toBe(json)
    const other = StructuredAccumulator.restore(JSON.parse(json))
    expect(other.read()?.data).toEqual({ a: { x: 2 }, l: [1, 2] })
    other.discard()
    expect(other.read()).toEqual(accumulator.read())
  })

  it('invalidating a missing object changes nothing', () => {
    const accumulator = new StructuredAccumulator()
    accumulator.invalidate()
    expect(accumulator.snapshot()).toEqual({ draft: [] })
  })
})

describe('law 11: appending is linear', () => {
  const count = 100_000

  it('copies no element twice with commits', () => {
    const accumulator = new StructuredAccumulator()
    const elements = copied(() => {
      for (let i = 0; i < count; i++) {
        accumulator.write(append('rows.items', [i]))
        if (i % 10 === 9) accumulator.commit()
      }
    })
    expect(elements).toBeLessThan(count)
    expect(accumulator.read()?.data).toMatchObject({ rows: { items: { length: count } } })
  })

  it('copies no element twice with discards', () => {
    const accumulator = drafted([append('l', [0]), append('l', [1])], [])
    const elements = copied(() => {
      for (let i = 0; i < count / 10; i++) {
        for (let j = 0; j < 10; j++) accumulator.write(append('l', [j]))
        if (i % 2) accumulator.discard()
        else accumulator.commit()
      }
    })
    expect(elements).toBeLessThan(count)
    expect(accumulator.read()?.data).toMatchObject({ l: { length: 2 + count / 2 } })
  })

  it('copies few elements in reduceStructuredChunks', () => {
    const chunks = Array.from({ length: count }, (_, i) => append('l', [i]))
    let states: Record<string, StructuredState> = {}
    const elements = copied(() => {
      states = reduceStructuredChunks(chunks)
    })
    expect(elements).toBeLessThan(count / 10)
    expect(states['s']?.data).toMatchObject({ l: { length: count } })
  })

  it('copies no element twice while unset items are written', () => {
    const accumulator = new StructuredAccumulator()
    const size = 1000
    const elements = copied(() => {
      for (let i = 0; i < count / size; i++) accumulator.write(text(`l.${(i + 1) * size - 1}`, 'x'))
      for (let i = count - 1; i >= 0; i--) accumulator.write(text(`l.${(i * 7919) % count}`, 'y'))
    })
    // The segments of the paths.
    expect(elements).toBeLessThan(count * 8)
    expect(pathsOf(accumulator.read()?.unset)).toEqual([])
  })

  it('a read costs one copy of the values that changed since the last read', () => {
    const accumulator = drafted([append('a', Array(1000).fill(0)), append('b', Array(1000).fill(0))], [])
    accumulator.read()
    const elements = copied(() => {
      for (let i = 0; i < 500; i++) accumulator.write(append('a', [i]))
      accumulator.read()
    })
    expect(elements).toBeGreaterThanOrEqual(1000)
    expect(elements).toBeLessThan(1010)
  })
})
