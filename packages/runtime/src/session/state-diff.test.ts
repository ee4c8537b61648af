import { isDeepStrictEqual } from 'node:util'
import { applyPatch, type Json } from '@millrace/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { multiplied } from '../../../../scripts/faults/campaign.ts'
import { diff } from './state-diff.ts'

const RUNS = multiplied(500)

/** Keys that JSON Pointers escape, that objects inherit, and that look like array indexes. */
const key = fc.oneof(
  fc.constantFrom('a', 'b', '', '/', '~', '~1', '~0/', 'a/b', '__proto__', 'constructor', 'toString', '0', '1', '-'),
  fc.string({ maxLength: 3 }),
)

const json = fc.letrec<{ value: Json }>(tie => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom<Json>(null, true, false, 0, 1, '', 'x'),
    fc.array(tie('value'), { maxLength: 5 }),
    fc.array(fc.tuple(key, tie('value')), { maxLength: 5 }).map(entries => objectOf(entries)),
  ),
})).value

/** An object with own keys, as `JSON.parse` creates it. */
function objectOf(entries: readonly (readonly [string, Json])[]): Json {
  const object = {}
  for (const [name, value] of entries) {
    Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true })
  }
  return object
}

test('turns one value into the other and changes neither', () => {
  fc.assert(
    fc.property(json, json, (from, to) => {
      const before = JSON.stringify([from, to])
      const operations = diff(from, to)
      const after = applyPatch(from, JSON.parse(JSON.stringify(operations)) as typeof operations)
      expect(isDeepStrictEqual(after, to), `${JSON.stringify(after)} is ${JSON.stringify(to)}`).toBe(true)
      expect(JSON.stringify([from, to])).toBe(before)
    }),
    { numRuns: RUNS },
  )
})

test('is empty for equal values with keys in any order', () => {
  fc.assert(
    fc.property(json, value => {
      expect(diff(value, JSON.parse(JSON.stringify(value)) as Json)).toEqual([])
    }),
    { numRuns: RUNS },
  )
  expect(diff({ a: 1, b: 2 }, { b: 2, a: 1 })).toEqual([])
})

test('contains only the changes', () => {
  const from = { list: [1, 2, 3, 4], same: { deep: [1] }, gone: 1, 'a/b~c': 1 }
  const to = { list: [1, 9, 2, 3, 4], same: { deep: [1] }, come: { a: 1 }, 'a/b~c': 2 }
  expect(diff(from, to)).toEqual([
    { op: 'remove', path: '/gone' },
    { op: 'add', path: '/list/1', value: 9 },
    { op: 'add', path: '/come', value: { a: 1 } },
    { op: 'replace', path: '/a~1b~0c', value: 2 },
  ])
  expect(diff([1, 2, 3, 4, 5], [1, 5])).toEqual([
    { op: 'remove', path: '/3' },
    { op: 'remove', path: '/2' },
    { op: 'remove', path: '/1' },
  ])
  expect(diff({ a: 1 }, [1])).toEqual([{ op: 'replace', path: '', value: [1] }])
})

test('costs no more than the size of nested lists', () => {
  const nested = (leaf: number, depth: number): Json => (depth === 0 ? leaf : [nested(leaf, depth - 1), { n: depth }])
  const to = nested(2, 200)
  expect(diff(nested(1, 200), to)).toEqual([{ op: 'replace', path: '/0'.repeat(200), value: 2 }])
})

test('supports more operations than a function call takes arguments', () => {
  const many = (value: number): Json => ({ list: Array.from({ length: 200_000 }, (_, i) => value + i) })
  const operations = diff(many(0), many(1_000_000))
  expect(operations).toHaveLength(200_000)
  expect(operations.at(-1)).toEqual({ op: 'replace', path: '/list/199999', value: 1_199_999 })
})
