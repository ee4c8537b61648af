import { expect, test } from 'vitest'
import { deepCopy } from './deep-copy.ts'

test('copies plain objects and arrays and shares all other values', () => {
  const url = new URL('https://example.org/')
  const bytes = new Uint8Array(3)
  const given = { list: [{ url, bytes, none: undefined }], text: 'x', nothing: null }
  const copy = deepCopy(given)
  expect(copy).toStrictEqual(given)
  expect(copy.list).not.toBe(given.list)
  expect(copy.list[0]).not.toBe(given.list[0])
  expect(copy.list[0]?.url).toBe(url)
  expect(copy.list[0]?.bytes).toBe(bytes)
})

test('copies fields named like inherited ones as own fields', () => {
  const given = JSON.parse('{"__proto__":{"a":1},"constructor":2}') as object
  const copy = deepCopy(given)
  expect(JSON.stringify(copy)).toBe(JSON.stringify(given))
  expect(Object.getPrototypeOf(copy)).toBe(Object.prototype)
})
