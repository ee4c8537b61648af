import fc from 'fast-check'
import { expect, test } from 'vitest'
import { multiplied } from '../../../../scripts/faults/campaign.ts'
import { legalToolNames } from './legal-tool-names.ts'

test('keeps valid names and converts others', () => {
  expect([...legalToolNames(['add', 'a.b', 'x'.repeat(70)], '')]).toEqual([
    ['add', 'add'],
    ['a.b', 'a_b'],
    ['x'.repeat(70), 'x'.repeat(64)],
  ])
  expect(legalToolNames(['a/b'], 'git-').get('a/b')).toBe('git-a_b')
})

test('does not convert a name to an existing valid one', () => {
  const names = legalToolNames(['a.b', 'a_b', 'a/b'], '')
  expect(names.get('a_b')).toBe('a_b')
  expect(new Set(names.values()).size).toBe(3)
})

test('does not convert a name to one that looks converted', () => {
  const mark = legalToolNames(['a.b', 'a_b'], '').get('a.b') as string
  const names = legalToolNames(['a.b', 'a_b', mark], '')
  expect(names.get(mark)).toBe(mark)
  expect(new Set(names.values()).size).toBe(3)
  const next = names.get('a.b') as string
  expect(new Set(legalToolNames(['a.b', 'a_b', mark, next], '').values()).size).toBe(4)
})

test('converts names uniquely and independent of their order', () => {
  const name = fc.oneof(
    fc.string({ minLength: 1, maxLength: 4, unit: fc.constantFrom('a', '_', '.', '/') }),
    fc.string(),
  )
  fc.assert(
    fc.property(fc.uniqueArray(name, { maxLength: 12 }), fc.nat(2), (some, rounds) => {
      let known = some
      // The converted name of another tool.
      for (let round = 0; round < rounds; round++) {
        known = [...new Set([...known, ...[...legalToolNames(known, 'p_').values()].map(each => each.slice(2))])]
      }
      const names = legalToolNames(known, 'p_')
      expect(new Set(names.values()).size).toBe(known.length)
      for (const legal of names.values()) expect(legal).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
      expect(new Map(legalToolNames(known.toReversed(), 'p_'))).toEqual(new Map(names))
    }),
    { numRuns: multiplied(300) },
  )
})
