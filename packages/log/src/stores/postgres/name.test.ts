import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { multiplied } from '../../../../../scripts/faults/campaign.ts'
import { decodeName, encodeName, keyOf, longNameOf, tokenOf } from './name.ts'

/** Names of any code units, with more of the special ones. */
const name = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'binary', maxLength: 4 }),
      fc.constantFrom(
        '\0',
        '\u001b',
        '\u001bh',
        '\u001b0000',
        '\ud800',
        '\udc00',
        '\ud83d\ude00',
        '\\',
        'x'.repeat(250),
      ),
    ),
    { maxLength: 6 },
  )
  .map(parts => parts.join(''))

describe('a name in Postgres', () => {
  it('is returned unchanged, and is text that Postgres can store', () => {
    fc.assert(
      fc.property(name, text => {
        const written = encodeName(text)
        expect(decodeName(written)).toBe(text)
        expect(Buffer.from(written).toString()).toBe(written)
        expect(written).not.toContain('\0')
      }),
      { numRuns: multiplied(200) },
    )
  })

  it('has a unique key, short enough for an index', () => {
    fc.assert(
      fc.property(name, name, (a, b) => {
        expect(keyOf(a) === keyOf(b)).toBe(a === b)
        expect(encodeName(a) === encodeName(b)).toBe(a === b)
        expect(Buffer.byteLength(keyOf(a))).toBeLessThan(1100)
        expect(decodeName(longNameOf(a) ?? keyOf(a))).toBe(a)
      }),
      { numRuns: multiplied(200) },
    )
  })

  it('never collides with the hash of another', () => {
    const long = 'a'.repeat(1000)
    expect(keyOf(keyOf(long))).not.toBe(keyOf(long))
    expect(keyOf(`${long}b`)).not.toBe(keyOf(long))
    expect(encodeName('plain: names/stay\\as "they" are, 🙂 and ü too')).toBe(
      'plain: names/stay\\as "they" are, 🙂 and ü too',
    )
  })

  it('has a token of twelve characters that a notification needs not escape', () => {
    for (const text of ['', 'a', '\0', '\ud800', 'x'.repeat(10_000), ',']) expect(tokenOf(text)).toMatch(/^[\w-]{12}$/)
    expect(tokenOf('\ud800')).not.toBe(tokenOf('\ufffd'))
  })
})
