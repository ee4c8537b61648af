import { expect, test } from 'vitest'
import { MAX_CONTENT_LENGTH, MAX_TEXT_LENGTH, truncateJson } from './truncate-json.ts'

test('keeps a value within the limits', () => {
  const value = { a: [1, 'two', null, true], b: { ['__proto__']: 'own', c: 0.5 } }
  Object.defineProperty(value.b, '__proto__', { value: 'own', enumerable: true })
  expect(truncateJson(value)).toEqual({ json: JSON.stringify(value), isTruncated: false })
  expect(JSON.parse(truncateJson(undefined).json)).toBe(null)
})

test('truncates a long string and reports it', () => {
  const { json, isTruncated } = truncateJson({ text: 'x'.repeat(MAX_TEXT_LENGTH + 1) })
  expect(JSON.parse(json)).toEqual({ text: `${'x'.repeat(MAX_TEXT_LENGTH)}…` })
  expect(isTruncated).toBe(true)
  expect(truncateJson('x'.repeat(MAX_TEXT_LENGTH)).isTruncated).toBe(false)
})

test('never splits a surrogate pair', () => {
  const { json } = truncateJson(`${'x'.repeat(MAX_TEXT_LENGTH - 1)}😀😀`)
  expect((JSON.parse(json) as string).isWellFormed()).toBe(true)
})

test.each([
  ['many items', Array.from({ length: 100_000 }, (_, i) => i)],
  ['many fields', Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`field-${i}`, i]))],
  ['long names', Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`${i}`.repeat(1000), i]))],
  ['many long texts', Array.from({ length: 1000 }, () => 'x'.repeat(10_000))],
  ['texts that are longer when escaped', Array.from({ length: 1000 }, () => '\u0000'.repeat(10_000))],
])('returns valid JSON of bounded length for %s', (_, value) => {
  const { json, isTruncated } = truncateJson(value)
  expect(() => JSON.parse(json)).not.toThrow()
  expect(json.length).toBeLessThan(MAX_CONTENT_LENGTH + 6 * MAX_TEXT_LENGTH + 1000)
  expect(isTruncated).toBe(true)
})

test('stops at cycles and at the maximum depth', () => {
  const round: Record<string, unknown> = {}
  round['self'] = round
  expect(truncateJson(round).isTruncated).toBe(true)
})

test('drops values that are not JSON', () => {
  expect(JSON.parse(truncateJson({ bytes: new Uint8Array(1000), big: 1n, f: () => 1 }).json)).toEqual({
    bytes: null,
    big: '1',
  })
})
