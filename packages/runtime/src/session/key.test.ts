import fc from 'fast-check'
import { expect, test } from 'vitest'
import { multiplied } from '../../../../scripts/faults/campaign.ts'
import { keyOf, partOfKey, shortKeyOf } from './key.ts'

const RUNS = multiplied(500)

test('keeps plain parts readable and escapes separators', () => {
  expect(keyOf('s', 'r-1', 'call_1', 2)).toBe('s/r-1/call_1/2')
  expect(keyOf('a/b', 'c')).toBe('a%2Fb/c')
  expect(keyOf('a', 'b/c')).toBe('a/b%2Fc')
  expect(keyOf('größe 😀')).toBe(encodeURIComponent('größe 😀'))
})

test('gives different keys for different parts, in characters that headers allow', () => {
  const piece = fc.array(fc.constantFrom('a', '/', '%', '%2F', '%ud800', 'u', '\ud800', '\udc00', 'ß', ''), {
    maxLength: 4,
  })
  const pieces = fc.array(
    piece.map(letters => letters.join('')),
    { minLength: 1, maxLength: 3 },
  )
  fc.assert(
    fc.property(pieces, pieces, (first, second) => {
      expect(keyOf(...first) === keyOf(...second)).toBe(JSON.stringify(first) === JSON.stringify(second))
      expect(keyOf(...first)).toMatch(/^[\x21-\x7e]*$/)
      for (const piece of first) expect(partOfKey(keyOf(piece))).toBe(piece)
    }),
    { numRuns: RUNS },
  )
})

test('hashes a long key and keeps a short one', () => {
  expect(shortKeyOf('tone', 64)).toBe('tone')
  const long = ['é'.repeat(64), 'è'.repeat(64)].map(piece => shortKeyOf(piece, 64))
  expect(long.map(({ length }) => length)).toEqual([64, 64])
  expect(new Set(long).size).toBe(2)
})
