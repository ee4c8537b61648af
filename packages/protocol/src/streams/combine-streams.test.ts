import * as fc from 'fast-check'
import { describe, expect, expectTypeOf, it } from 'vitest'
import type { Chunk } from '../catalogue/chunk.ts'
import type { Entry } from '../entry/entry.ts'
import { runs } from '../property-runs.fixture.ts'
import { collectAll } from './collect.ts'
import { combineStreams } from './combine-streams.ts'
import { take } from './slice.ts'
import { Source } from './source.fixture.ts'

const goneError = new Error('gone')

describe('combineStreams', () => {
  it('yields all items of all streams, in order within each stream', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(fc.nat(9), { maxLength: 5 }), { maxLength: 4 }), async lists => {
        const sources = lists.map((list, source) => new Source(list.map((item, i) => ({ source, item, i }))))
        const all = await collectAll(combineStreams(sources))
        for (const [source, list] of lists.entries()) {
          expect(all.filter(item => item.source === source).map(({ item }) => item)).toEqual(list)
        }
        expect(all).toHaveLength(lists.flat().length)
        for (const source of sources) expect(source).toMatchObject({ returns: 0, pending: 0 })
      }),
      { numRuns: runs(50) },
    )
  })

  it('does not wait for a silent stream', async () => {
    const silent = new Source<string>([], 'silence')
    const busy = new Source(['a', 'b', 'c'])
    expect(await collectAll(take(combineStreams([silent, busy]), 3))).toEqual(['a', 'b', 'c'])
    expect(silent).toMatchObject({ pulls: 1, returns: 1 })
  })

  it('starves no stream', async () => {
    const endless = function* (name: string) {
      while (true) yield name
    }
    const some = await collectAll(take(combineStreams([new Source(endless('a')), new Source(endless('b'))]), 20))
    expect(some.filter(name => name === 'b')).toHaveLength(10)
  })

  it('law 8: buffers at most one item of each stream for a slow consumer', async () => {
    const sources = ['a', 'b', 'c'].map(name => new Source(Array.from({ length: 50 }, (_, i) => name + i)))
    let count = 0
    for await (const _ of combineStreams(sources)) {
      count++
      await new Promise(resolve => setTimeout(resolve))
      const pulls = sources.reduce((sum, source) => sum + source.pulls, 0)
      expect(pulls).toBeLessThanOrEqual(count + sources.length)
      expect(Math.max(...sources.map(source => source.maxPending))).toBe(1)
      if (count === 60) break
    }
    expect(sources.map(source => source.returns)).toEqual([1, 1, 1])
  })

  it('ends the others when one fails, after the items before', async () => {
    const others = [new Source([1], 'silence'), new Source<number>([], 'silence')]
    const failing = new Source([2], goneError)
    const seen: number[] = []
    const run = async () => {
      for await (const item of combineStreams([...others, failing])) seen.push(item)
    }
    await expect(run()).rejects.toBe(goneError)
    expect(seen).toEqual([1, 2])
    expect(others.map(source => source.returns)).toEqual([1, 1])
    expect(failing.returns).toBe(0)
  })

  it('ends the others when one cannot be opened', async () => {
    const other = new Source([1], 'silence')
    const locked: AsyncIterable<number> = {
      [Symbol.asyncIterator]() {
        throw goneError
      },
    }
    await expect(collectAll(combineStreams([other, locked]))).rejects.toBe(goneError)
    expect(other.returns).toBe(1)
  })

  it('throws the first error if releasing another stream fails too', async () => {
    const stubborn = (next: Promise<IteratorResult<number>>): AsyncIterable<number> => ({
      [Symbol.asyncIterator]: () => ({
        next: () => next,
        return: async () => {
          throw new Error('another')
        },
      }),
    })
    for (const next of [new Promise<never>(() => {}), Promise.resolve({ done: false, value: 1 })]) {
      const failing = new Source<number>([], goneError)
      await expect(collectAll(combineStreams([failing, stubborn(next)]))).rejects.toBe(goneError)
    }
  })

  it('releases all streams when aborted', async () => {
    const sources = [new Source([1], 'silence'), new Source([2], 'silence')]
    const controller = new AbortController()
    setTimeout(() => controller.abort(goneError), 5)
    await expect(collectAll(combineStreams(sources, controller))).rejects.toBe(goneError)
    expect(sources.map(source => source.returns)).toEqual([1, 1])
  })

  it('ends at once without streams', async () => {
    expect(await collectAll(combineStreams([]))).toEqual([])
  })

  it('has the item types of all streams', () => {
    const chunks = new Source<Chunk>([])
    const entries = new Source<Entry>([])
    expectTypeOf(combineStreams([chunks, chunks])).toEqualTypeOf<AsyncIterableIterator<Chunk, undefined>>()
    expectTypeOf(combineStreams([chunks, entries])).toEqualTypeOf<AsyncIterableIterator<Chunk | Entry, undefined>>()
  })
})
