import { describe, expect, expectTypeOf, it } from 'vitest'
import { collectAll } from './collect.ts'
import { skip, take } from './slice.ts'
import { Source } from './source.fixture.ts'

describe('take', () => {
  it('requests no more items than it yields, and releases the source', async () => {
    const source = new Source(['a', 'b', 'c'], 'silence')
    expect(await collectAll(take(source, 2))).toEqual(['a', 'b'])
    expect(source).toMatchObject({ pulls: 2, returns: 1 })
  })

  it('releases the source with its last item, without another request', async () => {
    const source = new Source(['a', 'b', 'c'])
    const taken = take(source, 2)
    await taken.next()
    expect(source.returns).toBe(0)
    expect(await taken.next()).toEqual({ done: false, value: 'b' })
    expect(source).toMatchObject({ pulls: 2, returns: 1 })
    expect(await taken.next()).toEqual({ done: true, value: undefined })
    expect(source).toMatchObject({ pulls: 2, returns: 1 })
  })

  it('yields its last item if the release fails, then throws the error', async () => {
    const stubborn = () => {
      const source = new Source(['a', 'b'])[Symbol.asyncIterator]()
      const failing = async () => {
        throw new Error('stuck')
      }
      return { [Symbol.asyncIterator]: () => ({ next: () => source.next(), return: failing }) }
    }
    const taken = take(stubborn(), 1)
    expect(await taken.next()).toEqual({ done: false, value: 'a' })
    await expect(taken.next()).rejects.toThrow('stuck')
    const left = take(stubborn(), 1)
    await left.next()
    await expect(left.return?.()).rejects.toThrow('stuck')
  })

  it('ends after its last item, also if the signal is aborted then', async () => {
    const abort = new AbortController()
    const taken = take(new Source(['a', 'b']), 1, { signal: abort.signal })
    await taken.next()
    abort.abort()
    expect(await taken.next()).toEqual({ done: true, value: undefined })
  })

  it.each([0, -1, Number.NaN])('requests nothing and releases the source for a count of %d', async count => {
    const source = new Source(['a'])
    expect(await collectAll(take(source, count))).toEqual([])
    expect(source).toMatchObject({ pulls: 0, returns: 1 })
  })

  it('yields all items of a shorter source', async () => {
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
  ])('yields the items after the first %d', async (count, rest) => {
    expect(await collectAll(skip(new Source([1, 2, 3]), count))).toEqual(rest)
  })
})
