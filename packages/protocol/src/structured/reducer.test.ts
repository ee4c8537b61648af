import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { StructuredDataChunk } from '../catalogue/guards.ts'
import { ProtocolError } from '../error/protocol-error.ts'
import type { Json } from '../json/json.ts'
import { runs } from '../property-runs.fixture.ts'
import { anyChunk, append, final, set, text } from './chunks.fixture.ts'
import { MAX_GAP } from './path.ts'
import { applyStructuredChunk, reduceStructuredChunks } from './reducer.ts'
import { applyNaively, clone, freeze, pathsOf, unsetIn } from './structured-model.fixture.ts'
import type { StructuredState } from './structured-state.ts'

const reduce = (...chunks: StructuredDataChunk[]): StructuredState | undefined => {
  let state: StructuredState | undefined
  for (const chunk of chunks) state = freeze(applyStructuredChunk(state, chunk))
  return state
}
const data = (...chunks: StructuredDataChunk[]): Json | undefined => reduce(...chunks)?.data
const json = (...chunks: StructuredDataChunk[]) => JSON.stringify(data(...chunks))
/** Applies all chunks except the last, and returns the error of the last. */
const refusal = (...chunks: StructuredDataChunk[]): ProtocolError => {
  const state = reduce(...chunks.slice(0, -1))
  try {
    applyStructuredChunk(state, chunks.at(-1) as StructuredDataChunk)
  } catch (error) {
    if (error instanceof ProtocolError) return error
    throw error
  }
  throw new Error('expected a refusal')
}

describe('guarantees of the Kortyx page', () => {
  it('set writes the value at the path and replaces any other', () => {
    expect(data(set('draft.subject', 'Hi'), set('draft.body', 'x'), set('draft.subject', [1]))).toEqual({
      draft: { subject: [1], body: 'x' },
    })
    expect(data(set('items.0.title', 'a'), set('items.1.title', 'b'))).toEqual({
      items: [{ title: 'a' }, { title: 'b' }],
    })
    expect(data(set('0', 'a'), set('1', 'b'))).toEqual(['a', 'b'])
  })

  it('set distinguishes -0 from 0, as JSON.parse does', () => {
    expect(data(set('a', -0), set('a', 0))).toEqual({ a: 0 })
  })

  it('append appends to an array, or creates it', () => {
    expect(data(append('jobs', [1]), append('jobs', [2, 3]), append('none', []))).toEqual({ jobs: [1, 2, 3], none: [] })
    expect(data(append('a.0', [1]), append('a.0', [2]))).toEqual({ a: [[1, 2]] })
  })

  it('text-delta appends to a string, or creates it', () => {
    expect(data(text('draft.body', 'Hel'), text('draft.body', 'lo'), text('e', ''))).toEqual({
      draft: { body: 'Hello' },
      e: '',
    })
  })

  it('final replaces everything and ends the stream', () => {
    expect(reduce(set('partial', 1), final({ complete: true }))).toEqual({
      streamId: 's',
      dataType: 'd',
      status: 'done',
      data: { complete: true },
    })
    expect(reduce(final(null))).toMatchObject({ status: 'done', data: null })
  })

  it.each([set('a', 1), append('a', [1]), text('a', 'x'), final(1), set('..', 1)])(
    'nothing follows a final: %o',
    chunk => {
      const error = refusal(final({}), chunk)
      expect(error.code).toBe('stream-done')
      expect(error.message).toContain("'s'")
      expect(error.message).toContain(chunk.kind)
    },
  )

  it('rejects a chunk of another stream before any other check', () => {
    const error = refusal(final({}), set('..', 1, { streamId: 'other' }))
    expect(error.code).toBe('stream-mismatch')
    expect(error.message).toContain("expected stream 's', found 'other'")
  })

  it('rejects a malformed path before a conflict with the data', () => {
    expect(refusal(set('a', 1), append('a..b', [])).code).toBe('invalid-path')
    expect(refusal(set('a', 1), append('a.*', [])).code).toBe('invalid-path')
  })

  it.each<[string, StructuredDataChunk[], string]>([
    [
      'append on a string',
      [text('a.b', 'x'), append('a.b', [1])],
      'state.data.a.b: expected array at state.data.a.b, found string',
    ],
    [
      'append on an object',
      [set('a', {}), append('a', [1])],
      'state.data.a: expected array at state.data.a, found object',
    ],
    ['append on null', [set('a', null), append('a', [1])], 'state.data.a: expected array at state.data.a, found null'],
    [
      'text on an array',
      [append('a', [1]), text('a', 'x')],
      'state.data.a: expected string at state.data.a, found array',
    ],
    ['text on null', [set('a', null), text('a', 'x')], 'state.data.a: expected string at state.data.a, found null'],
    ['text on a number', [set('a', 1), text('a', 'x')], 'state.data.a: expected string at state.data.a, found number'],
    [
      'below a scalar',
      [set('a', 1), set('a.b.c', 1)],
      'state.data.a.b.c: expected object at state.data.a, found number',
    ],
    [
      'below a string',
      [text('a', 'x'), set('a.0', 1)],
      'state.data.a.0: expected array or object at state.data.a, found string',
    ],
    [
      'below null',
      [set('a.b', null), set('a.b.c', 1)],
      'state.data.a.b.c: expected object at state.data.a.b, found null',
    ],
    [
      'a key of an array',
      [append('a', [1]), set('a.b', 1)],
      'state.data.a.b: expected object at state.data.a, found array',
    ],
    ['a key of the root array', [set('0', 1), set('b', 1)], 'state.data.b: expected object at state.data, found array'],
  ])('a type conflict reports the path, what was expected and what was found: %s', (_, chunks, message) => {
    expect(refusal(...chunks)).toMatchObject({ code: 'path-conflict', message })
  })
})

describe('keys that other reducers handle wrongly', () => {
  it('__proto__ is an ordinary own key, inside and at the end of a path', () => {
    const state = data(set('__proto__.x', 1)) as Record<string, unknown>
    expect(JSON.stringify(state)).toBe('{"__proto__":{"x":1}}')
    expect(state['x']).toBeUndefined()
    expect(Object.getPrototypeOf(state)).toBe(Object.prototype)
    expect(json(set('a', 1), set('__proto__', { admin: true }), set('b', 2))).toBe(
      '{"a":1,"__proto__":{"admin":true},"b":2}',
    )
    expect(json(append('__proto__', [1]), append('__proto__', [2]))).toBe('{"__proto__":[1,2]}')
    expect(json(text('a.__proto__', 'x'), text('a.__proto__', 'y'))).toBe('{"a":{"__proto__":"xy"}}')
    expect(({} as Record<string, unknown>)['x']).toBeUndefined()
  })

  it('nothing inherited is read: constructor, toString and hasOwnProperty can be built', () => {
    expect(json(set('constructor.prototype.x', 1))).toBe('{"constructor":{"prototype":{"x":1}}}')
    expect(json(append('toString', [1]), append('toString', [2]))).toBe('{"toString":[1,2]}')
    expect(json(text('hasOwnProperty', 'x'), text('valueOf.a', 'y'))).toBe('{"hasOwnProperty":"x","valueOf":{"a":"y"}}')
    expect(({} as Record<string, unknown>)['x']).toBeUndefined()
  })

  it('a streamId may be __proto__', () => {
    const states = reduceStructuredChunks([
      set('a', 1, { streamId: '__proto__' }),
      set('b', 2, { streamId: '__proto__' }),
      set('a', 3, { streamId: 'constructor' }),
    ])
    expect(Object.keys(states)).toEqual(['__proto__', 'constructor'])
    expect(Object.getOwnPropertyDescriptor(states, '__proto__')?.value.data).toEqual({ a: 1, b: 2 })
    expect(Object.getPrototypeOf(states)).toBe(Object.prototype)
  })
})

describe('numeric segments', () => {
  it('create an array where no value is, and name a key of an object', () => {
    expect(data(set('y.0', 1))).toEqual({ y: [1] })
    expect(data(set('y', { 2024: 1 }), set('y.2025', 2), append('y.2026.0', [3]))).toEqual({
      y: { 2024: 1, 2025: 2, 2026: [[3]] },
    })
  })

  it('are plain keys if they have a leading zero', () => {
    expect(data(set('a.007', 1))).toEqual({ a: { '007': 1 } })
    expect(refusal(append('a', [1]), set('a.00', 1)).code).toBe('path-conflict')
  })

  it('fill the gap before an index beyond the end with null, never with holes', () => {
    const filled = data(set('a.3', 'x')) as { a: Json[] }
    expect(filled).toEqual({ a: [null, null, null, 'x'] })
    expect(Object.keys(filled.a)).toEqual(['0', '1', '2', '3'])
    expect(data(append('a', [1]), set('a.3.b', 'x'))).toEqual({ a: [1, null, null, { b: 'x' }] })
    expect(data(set('a.1', 'x'), set('a.0', 'y'))).toEqual({ a: ['y', 'x'] })
  })

  it('create an unset item before the end, in any order of the writes', () => {
    expect(data(set('a.1.title', 'b'), set('a.0.title', 'a'))).toEqual({ a: [{ title: 'a' }, { title: 'b' }] })
    expect(data(text('a.1', 'b'), text('a.0', 'a'), text('a.0', 'a'))).toEqual({ a: ['aa', 'b'] })
    expect(data(append('1', [1]), append('0', [0]), append('0', [2]))).toEqual([[0, 2], [1]])
    expect(data(set('a.2.x', 1), set('a.0.2.x', 1), text('a.0.1.x', 'y'), set('a.1', null))).toEqual({
      a: [[null, { x: 'y' }, { x: 1 }], null, { x: 1 }],
    })
  })

  it('create nothing at a null that was set, or in a value that was', () => {
    expect(refusal(set('a.1', 1), set('a.0', null), set('a.0.b', 'y')).message).toBe(
      'state.data.a.0.b: expected object at state.data.a.0, found null',
    )
    for (const written of [set('a', [null, 1]), append('a', [null, 1])]) {
      expect(refusal(written, text('a.0', 'x')).code).toBe('path-conflict')
      // The value replaces an array with an unset item at the same place.
      if (written.kind === 'set') expect(refusal(set('a.1', 1), written, text('a.0', 'x')).code).toBe('path-conflict')
    }
    expect(refusal(set('a.1', 1), final({ a: [null] }), text('a.0', 'x')).code).toBe('stream-done')
  })

  it('are listed in `unset` while no write has set the item', () => {
    const unset = (...chunks: StructuredDataChunk[]) => reduce(...chunks)?.unset
    expect(unset(set('a.2', 'x'), set('b', 1))).toEqual({ a: { 0: true, 1: true } })
    expect(unset(set('a.2', 'x'), set('a.1.c.1', 'y'))).toEqual({ a: { 0: true, 1: { c: { 0: true } } } })
    expect(unset(set('2', 'x'), set('0', 1))).toEqual({ 1: true })
    expect(unset(set('a.1', 'x'), set('a', 1))).toEqual({})
    expect(unset(set('a.1', 'x'), final(1))).toBeUndefined()
    expect(JSON.stringify(unset(set('__proto__.1', 'x')))).toBe('{"__proto__":{"0":true}}')
  })

  it('are rejected after a gap of more than MAX_GAP', () => {
    expect(data(set(`a.${MAX_GAP}`, 'x'))).toEqual({ a: [...Array(MAX_GAP).fill(null), 'x'] })
    expect(refusal(set(`a.${MAX_GAP + 1}`, 'x'))).toMatchObject({
      code: 'path-conflict',
      message: 'state.data.a.1025: expected at most 1024 empty items at state.data.a, found 1025',
    })
    expect(refusal(append('a', [1, 2]), set('a.1027.b', 'x')).message).toBe(
      'state.data.a.1027.b: expected at most 1024 empty items at state.data.a, found 1025',
    )
    for (const index of ['5000000', '4294967294', '99999999999', '9007199254740993', '9'.repeat(400)]) {
      expect(refusal(set(`a.${index}`, 'x')).code).toBe('path-conflict')
      expect(refusal(set('b', 1), set(`a.0.${index}.c`, 'x')).code).toBe('path-conflict')
    }
  })

  it('are rejected if all gaps on the path exceed MAX_GAP together', () => {
    expect(refusal(set('1024.'.repeat(63) + 1024, 'x')).message).toMatch(
      /^state\.data(\.1024){14}: .+ at state\.data\.1024, found 2048$/,
    )
    expect(data(set('512.512', 'x'))).toEqual([...Array(512).fill(null), [...Array(512).fill(null), 'x']])
    expect(refusal(set('512.513', 'x')).code).toBe('path-conflict')
    expect(refusal(append('a', [1, 2]), set('a.3.1024', 'x')).code).toBe('path-conflict')
    expect(data(append('a', [1, 2]), set('a.2.1024', 'x'), set('a.2.0', 'y'))).toMatchObject({
      a: [1, 2, { length: 1025 }],
    })
  })
})

describe('values that are not JSON', () => {
  it('are kept unchanged, and nothing is written in them', () => {
    class Point {
      x = 1
    }
    for (const value of [new Date(0), new Point(), new Map([[1, 2]])] as unknown as Json[]) {
      const held = { ...set('a', value), value }
      expect(data(held)).toEqual({ a: value })
      expect(refusal(held, set('a.b', 1))).toMatchObject({
        code: 'path-conflict',
        message: 'state.data.a.b: expected object at state.data.a, found class instance',
      })
      expect(refusal(held, set('a.0', 1)).code).toBe('path-conflict')
    }
  })

  it('do not include objects without a prototype or of another realm', () => {
    for (const value of [Object.create(null), runInNewContext('({})')]) {
      expect(json(set('a', value), set('a.b', 1))).toBe('{"a":{"b":1}}')
    }
    expect(json(set('a', runInNewContext('[]')), set('a.0', 1))).toBe('{"a":[1]}')
  })

  it.each<[string, object, string]>([
    ['set', { path: 'a', value: undefined }, "structured-data 'set': expected value, found nothing"],
    ['final', {}, "structured-data 'final': expected value, found nothing"],
    ['append', { path: 'a', items: { 0: 1 } }, "structured-data 'append': expected array, found object"],
    ['text-delta', { path: 'a', delta: 7 }, "structured-data 'text-delta': expected string, found number"],
  ])('are rejected: %s', (kind, fields, message) => {
    const chunk = { type: 'structured-data', streamId: 's', dataType: 'd', kind, ...fields } as StructuredDataChunk
    expect(refusal(chunk)).toMatchObject({ code: 'invalid-chunk', message })
    expect(refusal(set('a', 1), chunk)).toMatchObject({ code: 'invalid-chunk', message })
  })
})

describe('metadata', () => {
  it('is kept until a later chunk changes it', () => {
    const first = set('a', 1, { node: 'n', id: 'i', schemaId: 'x', schemaVersion: '1' })
    expect(reduce(first, set('b', 1))).toMatchObject({
      dataType: 'd',
      node: 'n',
      id: 'i',
      schemaId: 'x',
      schemaVersion: '1',
    })
    expect(reduce(first, set('b', 1, { dataType: 'e', schemaVersion: '2' }), final({}, { dataType: 'e' }))).toEqual({
      streamId: 's',
      dataType: 'e',
      status: 'done',
      data: {},
      node: 'n',
      id: 'i',
      schemaId: 'x',
      schemaVersion: '2',
    })
  })

  it('is missing if no chunk has it', () => {
    expect(Object.keys(reduce(set('a', 1)) ?? {}).sort()).toEqual(['data', 'dataType', 'status', 'streamId'])
  })
})

describe('applyStructuredChunk is pure', () => {
  it('copies along the path and shares the rest', () => {
    const before = reduce(set('a', { b: { c: 1 }, d: [1] }), set('e', [{}])) as StructuredState
    const after = applyStructuredChunk(before, set('a.b.c', 2))
    const [was, is] = [before.data, after.data] as { a: { b: object; d: object }; e: object }[]
    expect(was).toEqual({ a: { b: { c: 1 }, d: [1] }, e: [{}] })
    expect(is).toEqual({ a: { b: { c: 2 }, d: [1] }, e: [{}] })
    expect(is?.a).not.toBe(was?.a)
    expect(is?.a.d).toBe(was?.a.d)
    expect(is?.e).toBe(was?.e)
  })

  it('returns the same state if a chunk changes nothing', () => {
    const state = reduce(set('a', 1), append('l', [1])) as StructuredState
    for (const chunk of [set('a', 1), append('l', []), set('a', 1, { dataType: 'd' })]) {
      expect(applyStructuredChunk(state, chunk)).toBe(state)
    }
  })

  it('agrees with the simple model, including errors', () => {
    fc.assert(
      fc.property(fc.array(anyChunk, { maxLength: 12 }), chunks => {
        let state: StructuredState | undefined
        let model: StructuredState | undefined
        for (const chunk of chunks) {
          const attempt = (apply: typeof applyStructuredChunk, before: StructuredState | undefined) => {
            try {
              return apply(before, chunk)
            } catch (error) {
              return error instanceof ProtocolError ? error.code : (error as string)
            }
          }
          const actual = attempt(applyStructuredChunk, state)
          const wanted = attempt(applyNaively, model)
          if (typeof actual === 'string' || typeof wanted === 'string') {
            expect(actual).toBe(wanted)
            continue
          }
          expect({ ...actual, unset: undefined }).toEqual(clone(wanted))
          // The order of the keys too.
          expect(JSON.stringify(actual.data)).toBe(JSON.stringify(wanted.data))
          expect(pathsOf(actual.unset).sort()).toEqual(unsetIn(wanted.data).sort())
          // Half of the states go through JSON, as those that an application stores.
          state = freeze(chunk.kind === 'set' ? clone(actual) : actual)
          model = wanted
        }
      }),
      { numRuns: runs(500) },
    )
  }, 120_000)
})

describe('reduceStructuredChunks', () => {
  it('keeps streams apart, in the order of their first chunk', () => {
    const states = reduceStructuredChunks([
      set('a', 1, { streamId: 'two' }),
      text('t', 'x', { streamId: 'one' }),
      final([], { streamId: 'two' }),
      text('t', 'y', { streamId: 'one' }),
    ])
    expect(Object.keys(states)).toEqual(['two', 'one'])
    expect(states).toMatchObject({ two: { status: 'done', data: [] }, one: { status: 'streaming', data: { t: 'xy' } } })
    expect(reduceStructuredChunks([])).toEqual({})
  })

  it('throws for the first invalid chunk, with its index', () => {
    const chunks = [set('a', 1), final(1, { streamId: 't' }), text('a', 'x'), set('..', 1)]
    expect(() => reduceStructuredChunks(chunks)).toThrow(
      new ProtocolError(
        'path-conflict',
        "chunk 2 (stream 's'): state.data.a: expected string at state.data.a, found number",
      ),
    )
  })

  it('shortens long names in errors', () => {
    for (const long of ['x'.repeat(1_000_000), `${'x.'.repeat(60)}x`]) {
      const chunks = [set('a', 1, { streamId: long }), set(`a.${long}`, 1, { streamId: long })]
      expect(() => reduceStructuredChunks(chunks)).toThrow(/^.{100,400}$/)
    }
    expect(refusal(set(`${'x'.repeat(1_000_000)}.`, 1)).message.length).toBeLessThan(300)
  })

  it('equals the chunks applied one by one', () => {
    fc.assert(
      fc.property(fc.array(anyChunk, { maxLength: 30 }), chunks => {
        const good: StructuredDataChunk[] = []
        const states: Record<string, StructuredState> = {}
        for (const chunk of chunks) {
          try {
            states[chunk.streamId] = applyStructuredChunk(states[chunk.streamId], chunk)
            good.push(chunk)
          } catch {
            // left out
          }
        }
        expect(reduceStructuredChunks(good)).toEqual(states)
      }),
      { numRuns: runs(300) },
    )
  }, 120_000)
})
