import fc from 'fast-check'
import { expect, test } from 'vitest'
import { multiplied } from '../../../../scripts/faults/campaign.ts'
import { legalToolNames } from './legal-tool-names.ts'

test('names that are legal stay, others become so', () => {
  expect([...legalToolNames(['add', 'a.b', 'x'.repeat(70)], '')]).toEqual([
    ['add', 'add'],
    ['a.b', 'a_b'],
    ['x'.repeat(70), 'x'.repeat(64)],
  ])
  expect(legalToolNames(['a/b'], 'git-').get('a/b')).toBe('git-a_b')
})

test('a name that is legal is not taken by one that is made so', () => {
  const names = legalToolNames(['a.b', 'a_b', 'a/b'], '')
  expect(names.get('a_b')).toBe('a_b')
  expect(new Set(names.values()).size).toBe(3)
})

test('nor is one that is called like the mark of another', () => {
  const mark = legalToolNames(['a.b', 'a_b'], '').get('a.b') as string
  const names = legalToolNames(['a.b', 'a_b', mark], '')
  expect(names.get(mark)).toBe(mark)
  expect(new Set(names.values()).size).toBe(3)
  const next = names.get('a.b') as string
  expect(new Set(legalToolNames(['a.b', 'a_b', mark, next], '').values()).size).toBe(4)
})

test('whatever they are called and in whatever order they come, no two become one, and each becomes the same', () => {
  const name = fc.oneof(
    fc.string({ minLength: 1, maxLength: 4, unit: fc.constantFrom('a', '_', '.', '/') }),
    fc.string(),
  )
  fc.assert(
    fc.property(fc.uniqueArray(name, { maxLength: 12 }), fc.nat(2), (some, rounds) => {
      let given = some
      // The converted name of another tool.
      for (let round = 0; round < rounds; round++) {
        given = [...new Set([...given, ...[...legalToolNames(given, 'p_').values()].map(each => each.slice(2))])]
      }
      const names = legalToolNames(given, 'p_')
      expect(new Set(names.values()).size).toBe(given.length)
      for (const legal of names.values()) expect(legal).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
      expect(new Map(legalToolNames(given.toReversed(), 'p_'))).toEqual(new Map(names))
    }),
    { numRuns: multiplied(300) },
  )
})
