import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { jsonSizeAtLeast } from './json-size.ts'

const NO_LIMIT = Number.POSITIVE_INFINITY
const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value) ?? '')

test('is at most the size as JSON, and at least a 24th of it, for any JSON', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), value => {
      const size = jsonSizeAtLeast(value, NO_LIMIT)
      expect(size).toBeLessThanOrEqual(bytesOf(value))
      // Escapes and digits are not counted.
      expect(size * 24).toBeGreaterThanOrEqual(bytesOf(value))
    }),
  )
})

describe('is at most the size as JSON', () => {
  const shared = { text: 'x'.repeat(10) }
  const VALUES: Record<string, unknown> = {
    undefined,
    'a function': () => {},
    'a symbol': Symbol('x'),
    'values that are left out': { a: undefined, b: () => {}, c: Symbol('x'), d: 1 },
    'a sparse list': new Array(10),
    'a date': new Date(0),
    'an object with toJSON': { toJSON: () => 'short', text: 'x'.repeat(100) },
    'a buffer': Buffer.from('bytes'),
    'bytes of zeros': new Uint8Array(20),
    'an empty view': new Uint8Array(0),
    'a map': new Map([['a', 1]]),
    'a boxed text': new String('text'),
    'a shared object': [shared, shared],
    'text that is not ASCII': 'ü€😀',
  }
  for (const [name, value] of Object.entries(VALUES)) {
    test(name, () => {
      expect(jsonSizeAtLeast(value, NO_LIMIT)).toBeLessThanOrEqual(Math.max(1, bytesOf(value)))
    })
  }
})

describe('above the limit', () => {
  test('stops in a list', () => {
    let reads = 0
    const items = Array.from({ length: 1000 }, () => ({
      get field() {
        reads++
        return 'x'.repeat(10)
      },
    }))
    expect(jsonSizeAtLeast(items, 1100)).toBeGreaterThan(1100)
    expect(reads).toBeLessThan(50)
  })

  test('stops in a graph that would be endless as text', () => {
    let graph: unknown = 'x'
    for (let depth = 0; depth < 200; depth++) graph = [graph, graph]
    expect(jsonSizeAtLeast(graph, 10_000)).toBeGreaterThan(10_000)
  })

  test('stops before the items of a long list, and before the keys of a long view', () => {
    expect(jsonSizeAtLeast(new Array(1e9), 1000)).toBeGreaterThan(1e9)
    expect(jsonSizeAtLeast(new Uint8Array(1000), 1000)).toBeGreaterThan(1000)
  })
})

describe('a value without JSON', () => {
  test('is not counted without end if it is a cycle', () => {
    const cycle: Record<string, unknown> = {}
    Object.assign(cycle, { one: cycle, two: [cycle, cycle] })
    expect(jsonSizeAtLeast(cycle, 1_000_000)).toBeLessThan(1_000_000)
  })

  test('does not throw if a getter or a toJSON throws', () => {
    const broken = {
      get field(): string {
        throw new Error('no')
      },
    }
    const toJSON = () => {
      throw new Error('no')
    }
    expect(jsonSizeAtLeast([1, broken], 1000)).toBeLessThan(1000)
    expect(jsonSizeAtLeast({ toJSON }, 1000)).toBeLessThan(1000)
  })
})
