import * as fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import * as z from 'zod'
import { catalogue } from './catalogue/catalogue.ts'
import { arbitraryChunk, arbitraryEntry, arbitraryFrame } from './catalogue/chunk.fixture.ts'
import { runs } from './property-runs.fixture.ts'
import { ChunkSchema, EntrySchema, FrameSchema } from './schemas.ts'
import { checkChunk, checkEntry, checkFrame } from './validate/validate.ts'

// A shared machine may be slow. The number of runs limits the work.
vi.setConfig({ testTimeout: 60_000 })

const subjects = [
  ['chunk', arbitraryChunk(), checkChunk, ChunkSchema],
  ['entry', arbitraryEntry(), checkEntry, EntrySchema],
  ['frame', arbitraryFrame(), checkFrame, FrameSchema],
] as const

const knownTypes = [...Object.keys(catalogue), 'data-', 'data-*', 'open', 'entries', 'truncated']

/** Edge cases for checks. */
const oddValues: readonly unknown[] = [
  ...[
    undefined,
    null,
    true,
    false,
    '',
    'x',
    '\n',
    0,
    -0,
    1,
    -1,
    1.5,
    2 ** 53,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    1n,
  ],
  ...[Symbol('odd'), () => 1, new Date(0), new Map(), new Set([1]), /x/, new Uint8Array(1), Object(1), Object('x')],
  ...[
    [],
    [undefined],
    [null],
    [Number.NaN],
    new Array(2),
    [[]],
    {},
    Object.create(null),
    Object.create({ type: 'start' }),
  ],
  ...[Object.assign([], { type: 'start' }), Object.assign(() => 1, { type: 'start' }), { type: 'start' }],
  ...[JSON.parse('{"__proto__":1}'), JSON.parse('{"__proto__":{"hash":"h","bytes":1}}'), { guest: undefined }],
]
const oddTypes = [
  'toString',
  'constructor',
  '__proto__',
  'DATA-x',
  'data',
  'text-delta\n',
  'text-delta ',
  ' start',
  'Start',
]

const odd = fc.oneof(
  fc.constantFrom(...oddValues),
  fc.constantFrom(...knownTypes, ...oddTypes),
  fc.jsonValue({ maxDepth: 1 }),
  fc.anything({ maxDepth: 2, withDate: true, withMap: true, withSet: true, withSparseArray: true, withBigInt: true }),
  fc.func(fc.boolean()),
)

type Change = { path: readonly number[]; how: 'remove' | 'replace' | 'add'; key: string; value: unknown }

const change: fc.Arbitrary<Change> = fc.record({
  path: fc.array(fc.nat({ max: 7 }), { maxLength: 5 }),
  how: fc.constantFrom('remove', 'replace', 'replace', 'add'),
  key: fc.oneof(fc.constantFrom('__proto__', 'constructor', 'guest', 'origin', 'kind', 'type', 'x', '0'), fc.string()),
  value: odd,
})

const put = (target: object, key: string, value: unknown): unknown =>
  Object.defineProperty(target, key, { value, enumerable: true, writable: true, configurable: true })

function copy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copy)
  if (value === null || typeof value !== 'object') return value
  const fresh = {}
  for (const [key, field] of Object.entries(value)) put(fresh, key, copy(field))
  return fresh
}

/** The value with one change, at its root or inside it. Only plain objects get an added key. */
function changed(value: unknown, { path, how, key, value: other }: Change): unknown {
  const root: { value: unknown } = { value: copy(value) }
  let target: Record<string, unknown> = root
  let name = 'value'
  for (const step of path) {
    const next = target[name]
    if (next === null || typeof next !== 'object' || Object.keys(next).length === 0) break
    target = next as Record<string, unknown>
    const keys = Object.keys(target)
    name = keys[step % keys.length] as string
  }
  if (how === 'remove') delete target[name]
  else if (how === 'replace') put(target, name, other)
  else if (Object.getPrototypeOf(target) === Object.prototype) put(target, key, other)
  return root.value
}

/** The paths, as `changed` takes them, of everything inside a value. */
function* paths(value: unknown, path: readonly number[] = []): Generator<readonly number[]> {
  yield path
  if (value === null || typeof value !== 'object' || path.length > 4) return
  for (const [i, inner] of Object.values(value).entries()) yield* paths(inner, [...path, i])
}

const show = (value: unknown): string => fc.stringify(value)

describe.each(subjects)('the schema: %s', (noun, valid, check, schema) => {
  const agree = (value: unknown): boolean => {
    const good = check(value) === undefined
    for (const jitless of [false, true]) {
      if (schema.safeParse(value, { jitless }).success !== good) {
        throw new Error(`${show(value)}: the validator says ${check(value) ?? 'good'}, the schema does not`)
      }
    }
    return good
  }

  it('accepts the same values as the validator and keeps all fields', () => {
    fc.assert(
      fc.property(valid, fc.dictionary(fc.string({ minLength: 12 }), fc.jsonValue()), (value, unknowns) => {
        const extended = { ...unknowns, ...value }
        expect(check(extended)).toBe(undefined)
        // zod copies the objects that the table describes without a key of this name.
        if (Object.hasOwn(unknowns, '__proto__')) return
        expect(schema.parse(extended)).toEqual(extended)
      }),
      { numRuns: runs(200) },
    )
  })

  it('agrees with the validator on values with one change', () => {
    let good = 0
    let bad = 0
    const property = fc.property(valid, change, (value, how) => {
      if (agree(changed(value, how))) good++
      else bad++
    })
    fc.assert(property, { numRuns: runs(500) })
    expect(Math.min(good, bad), `${good} were good, ${bad} bad`).toBeGreaterThan(runs(50))
  })

  it('agrees with the validator on missing and unusual values', () => {
    const property = fc.property(valid, value => {
      for (const path of paths(value)) {
        agree(changed(value, { path, how: 'remove', key: '', value: undefined }))
        for (const other of oddValues) agree(changed(value, { path, how: 'replace', key: '', value: other }))
      }
    })
    fc.assert(property, { numRuns: runs(20) })
  })

  it('agrees with the validator on values with several changes', () => {
    const property = fc.property(valid, fc.array(change, { minLength: 2, maxLength: 4 }), (value, changes) => {
      agree(changes.reduce(changed, value))
    })
    fc.assert(property, { numRuns: runs(500) })
  })

  it('agrees with the validator on any value', () => {
    oddValues.forEach(agree)
    const onAny = fc.property(odd, value => void agree(value))
    fc.assert(onAny, { numRuns: runs(500) })
    const typed = fc.record({ type: fc.constantFrom(...knownTypes, ...oddTypes) }).chain(base => {
      return fc.dictionary(fc.string(), odd).map(rest => ({ ...rest, ...base }))
    })
    const onTyped = fc.property(typed, value => void agree(value))
    fc.assert(onTyped, { numRuns: runs(500) })
  })

  it('reports the same location of a problem as the validator', () => {
    const error = schema.safeParse({ type: 'text-delta', id: 'a', delta: 1 }).error
    expect(error?.issues.length).toBeGreaterThan(0)
    if (noun === 'chunk') expect(error?.issues[0]?.message).toContain('text-delta.delta: expected string, found 1')
  })

  it('can be converted to JSON Schema', () => {
    for (const io of ['input', 'output'] as const) {
      const text = JSON.stringify(z.toJSONSchema(schema, { io, target: 'draft-2020-12' }))
      expect(text).toContain(noun === 'frame' ? '"caught-up"' : '"text-delta"')
    }
  })
})

describe('the open rule', () => {
  it('accepts an unknown type with any fields', () => {
    const value = { type: 'text-glow', id: 7, delta: null, deep: [{ __proto__: null }] }
    expect(checkChunk(value)).toBe(undefined)
    expect(ChunkSchema.parse(value)).toEqual(value)
  })

  it('requires `data` for `data-*`', () => {
    expect(checkChunk({ type: 'data-weather', data: null })).toBe(undefined)
    expect(checkChunk({ type: 'data-weather' })).toBe(' data-weather.data: expected json, found undefined')
    expect(ChunkSchema.safeParse({ type: 'data-weather' }).success).toBe(false)
  })

  it('does not apply to frames', () => {
    expect(checkFrame({ type: 'glow' })).toContain('expected one of open, entries')
    expect(FrameSchema.safeParse({ type: 'glow' }).success).toBe(false)
  })
})

describe('a value inside a chunk', () => {
  it('keeps unknown fields at any depth', () => {
    const chunk = { type: 'step-finish', usage: { inputTokens: 1, audioTokens: 2 }, glow: { a: [1] } }
    expect(ChunkSchema.parse(chunk)).toEqual(chunk)
    const message = { type: 'message', messageId: 'm', role: 'user', parts: [{ type: 'hologram', size: 3 }] }
    expect(ChunkSchema.parse(message)).toEqual(message)
  })

  it('is unchanged, including a key `__proto__`', () => {
    const output = JSON.parse('{"__proto__":{"admin":true},"n":1}')
    const metadata = JSON.parse('{"__proto__":1}')
    expect(ChunkSchema.parse({ type: 'tool-output-available', toolCallId: 'c', output })).toHaveProperty(
      'output',
      output,
    )
    expect((ChunkSchema.parse({ type: 'start', metadata }) as { metadata: object }).metadata).toBe(metadata)
  })
})
