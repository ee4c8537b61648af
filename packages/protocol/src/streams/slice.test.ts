import { describe, expect, expectTypeOf, it } from 'vitest'
import { collectAll } from './collection.ts'
import { skip, take } from './slice.ts'
import { Source } from './source.fixture.ts'

describe('take', () => {
  it('asks for no item more than it gives, and lets go', async () => {
    const source = new Source(['a', 'b', 'c'], 'silence')
    expect(await collectAll(take(source, 2))).toEqual(['a', 'b'])
    expect(source).toMatchObject({ pulls: 2, returns: 1 })
  })

  it.each([0, -1, Number.NaN])('of %d asks for nothing, and lets go', async count => {
    const source = new Source(['a'])
    expect(await collectAll(take(source, count))).toEqual([])
    expect(source).toMatchObject({ pulls: 0, returns: 1 })
  })

  it('gives what there is', async () => {
    expect(await collectAll(take(new Source([1, 2]), Number.POSITIVE_INFINITY))).toEqual([1, 2])
    expectTypeOf(take(new Source([1, 2]), 1)).toEqualTypeOf<AsyncIterableIterator<number, undefined>>()
  })
})

describe('skip', () => {
  it.each([
    [0, [1, 2, 3]],
    [2, [3]],
    [3, []],
    [9, []],
    [-1, [1, 2, 3]],
  ])('of %d leaves the rest', async (count, rest) => {
    expect(await collectAll(skip(new Source([1, 2, 3]), count))).toEqual(rest)
  })
})
