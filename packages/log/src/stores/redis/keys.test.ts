import fc from 'fast-check'
import { expect, test } from 'vitest'
import { multiplied } from '../../../../../scripts/faults/campaign.ts'
import { decodeName, decodeOptional, encodeName, encodeOptional, Keys } from './keys.ts'

const RUNS = { numRuns: multiplied(300) }

/** Any text, including lone surrogates, braces and escaped-looking text. */
const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.array(fc.integer({ min: 0, max: 0xffff })).map(units => String.fromCharCode(...units)),
  fc
    .array(fc.constantFrom('%', '{', '}', ' ', '\n', 'a', '0', '%0025', '\ud800', '語', ':'))
    .map(parts => parts.join('')),
)

test('an encoded name has only safe characters, is never empty and decodes to the same name', () => {
  fc.assert(
    fc.property(text, name => {
      const written = encodeName(name)
      expect(written).toMatch(/^[\w.:@/%-]+$/)
      expect(decodeName(written)).toBe(name)
    }),
    RUNS,
  )
})

test('different names have different keys', () => {
  fc.assert(
    fc.property(text, text, (first, second) => {
      expect(encodeName(first) === encodeName(second)).toBe(first === second)
    }),
    RUNS,
  )
})

test('a null principal differs from the empty name', () => {
  expect(encodeOptional(null)).not.toBe(encodeOptional(''))
  expect([decodeOptional(encodeOptional(null)), decodeOptional(encodeOptional(''))]).toEqual([null, ''])
})

test('all keys of a log have the same unique hash tag', () => {
  const keys = new Keys('p:')
  const tagOf = (key: string) => /\{([^}]*)\}/.exec(key)?.[1]
  fc.assert(
    fc.property(text, text, (one, other) => {
      const tags = [...Object.values(keys.log(one)), ...Object.values(keys.log(one, 'apart'))].map(tagOf)
      expect(new Set(tags).size).toBe(1)
      expect(tags[0]).not.toBe('')
      expect(tagOf(keys.record(other)) === tags[0]).toBe(one === other)
      expect(keys.streamOf(keys.record(one))).toBe(one)
    }),
    RUNS,
  )
})

test('rejects a prefix with a brace, which would put all logs into one slot', () => {
  expect(() => new Keys('app{1}:')).toThrow(expect.objectContaining({ code: 'invalid' }))
})
