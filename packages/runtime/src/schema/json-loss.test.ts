import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { jsonLoss } from './json-loss.ts'

class Point {
  x = 1
}
const cyclic: Record<string, unknown> = {}
cyclic['self'] = cyclic

test.each<[value: unknown, loss: string]>([
  [Number.NaN, 'NaN'],
  [{ a: [0, Number.NEGATIVE_INFINITY] }, '-Infinity at 1'],
  [() => 1, 'a function'],
  [{ onClick() {} }, 'a function at onClick'],
  [Symbol('s'), 'a symbol'],
  [[1, undefined], 'undefined in an array at 1'],
  [new Array(2), 'undefined in an array at 0'],
  [new Map([['a', 1]]), 'a Map'],
  [{ tags: new Set(['a']) }, 'a Set at tags'],
  [new Error('no'), 'a Error'],
  [new Point(), 'a Point'],
  [{ bytes: new Uint8Array(2) }, 'a Uint8Array at bytes'],
  [Promise.resolve(1), 'a Promise'],
])('%o loses something as JSON', (value, loss) => {
  expect(jsonLoss(value)).toBe(loss)
})

test.each<[value: unknown]>([
  [undefined],
  [null],
  ['NaN'],
  [-0],
  [{ a: { b: [null, true, 'x', 1.5] }, c: undefined }],
  [Object.assign(Object.create(null), { a: 1 })],
  [JSON.parse('{"__proto__":{"a":1},"constructor":"x"}')],
  [runInNewContext('({ a: [1] })')],
  [new Date(0)],
  [new URL('http://localhost')],
  [cyclic],
  [1n],
])('%o loses nothing as JSON, or has no JSON', value => {
  expect(jsonLoss(value)).toBeUndefined()
})
