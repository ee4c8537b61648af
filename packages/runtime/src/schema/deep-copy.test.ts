import { expect, test } from 'vitest'
import { deepCopy } from './deep-copy.ts'

test('copies plain objects and arrays and shares all other values', () => {
  const url = new URL('https://example.org/')
  const bytes = new Uint8Array(3)
  const original = { list: [{ url, bytes, none: undefined }], text: 'x', nothing: null }
  const copy = deepCopy(original)
  expect(copy).toStrictEqual(original)
  expect(copy.list).not.toBe(original.list)
  expect(copy.list[0]).not.toBe(original.list[0])
  expect(copy.list[0]?.url).toBe(url)
  expect(copy.list[0]?.bytes).toBe(bytes)
})

test('copies fields named like inherited ones as own fields', () => {
  const original = JSON.parse('{"__proto__":{"a":1},"constructor":2}') as object
  const copy = deepCopy(original)
  expect(JSON.stringify(copy)).toBe(JSON.stringify(original))
  expect(Object.getPrototypeOf(copy)).toBe(Object.prototype)
})
