import { describe, expect, expectTypeOf, it } from 'vitest'
import type { Chunk, ChunkOf, ChunkType, DataChunk } from '../catalogue/chunk.ts'
import type { ErrorChunk, TextDeltaChunk } from '../catalogue/guards.ts'
import type { Entry, Origin } from '../entry/entry.ts'
import type { Json } from '../json/json.ts'
import { collectAll } from './collect.ts'
import { excludeTypes, filterByAgentId, filterByAgentType, filterByType, filterWith } from './filter.ts'
import { Source } from './source.fixture.ts'

const poet: Origin = { runId: 'r', lane: 'main', agentId: 'r', agentType: 'poet', step: 1 }
const critic: Origin = { runId: 'r', lane: 'sub', agentId: 'a1', agentType: 'critic', step: 1 }
const chunks: Chunk[] = [
  { type: 'text-delta', id: 't', delta: 'a' },
  { type: 'reasoning-delta', id: 't', delta: 'b' },
  { type: 'data-weather', data: 20 },
  { type: 'data-news', data: null },
  { type: 'error', message: 'c' },
  { type: 'chunk-of-a-later-version' } as unknown as Chunk,
]
const [text, reasoning, weather, , error, later] = chunks
const origins = [poet, critic, { guest: 'poet' }, critic, poet, poet]
const entries = chunks.map(
  (chunk, i): Entry => ({
    sequence: i + 1,
    timestamp: 0,
    origin: origins[i] as Origin,
    chunk,
  }),
)

const ofChunks = () => new Source(chunks)
const ofEntries = () => new Source(entries)

describe('filterByType', () => {
  it('keeps chunks or entries of the given types', async () => {
    expect(await collectAll(filterByType(ofChunks(), ['text-delta', 'error']))).toEqual([text, error])
    expect(await collectAll(filterByType(ofEntries(), ['text-delta', 'error']))).toEqual([entries[0], entries[4]])
    expect(await collectAll(filterByType(ofChunks(), []))).toEqual([])
  })

  it('keeps one type of the open family', async () => {
    expect(await collectAll(filterByType(ofChunks(), ['data-weather']))).toEqual([weather])
  })

  it('narrows the type of the items', () => {
    const delta = filterByType(ofChunks(), ['text-delta'])
    expectTypeOf(delta).toEqualTypeOf<AsyncIterableIterator<TextDeltaChunk, undefined>>()
    const two = filterByType(ofEntries(), ['text-delta', 'error'])
    expectTypeOf(two).toEqualTypeOf<AsyncIterableIterator<Entry<TextDeltaChunk | ErrorChunk>, undefined>>()
    const one = filterByType(ofEntries(), ['data-weather'])
    expectTypeOf(one).toEqualTypeOf<
      AsyncIterableIterator<Entry<{ type: 'data-weather'; data: Json; id?: string; transient?: boolean }>, undefined>
    >()
    const any = filterByType(ofChunks(), ['error'] as ChunkType[])
    expectTypeOf(any).toEqualTypeOf<AsyncIterableIterator<Exclude<Chunk, DataChunk>, undefined>>()
    // @ts-expect-error no chunk has this type
    filterByType(ofChunks(), ['text_delta'])
  })
})

describe('excludeTypes', () => {
  it('removes the given types', async () => {
    expect(await collectAll(excludeTypes(ofChunks(), ['text-delta', 'data-news']))).toEqual([
      reasoning,
      weather,
      error,
      later,
    ])
    expect(await collectAll(excludeTypes(ofEntries(), ['reasoning-delta']))).toEqual(
      entries.filter(({ sequence }) => sequence !== 2),
    )
    expect(await collectAll(excludeTypes(ofChunks(), []))).toEqual(chunks)
  })

  it('narrows the type of the items', () => {
    const rest = excludeTypes(ofChunks(), ['text-delta', 'error'])
    expectTypeOf(rest).toEqualTypeOf<
      AsyncIterableIterator<Exclude<Chunk, { type: 'text-delta' | 'error' }>, undefined>
    >()
    const restOfEntries = excludeTypes(ofEntries(), ['error'])
    expectTypeOf(restOfEntries).toEqualTypeOf<
      AsyncIterableIterator<Entry<Exclude<Chunk, { type: 'error' }>>, undefined>
    >()
  })

  it('narrows only by types that are excluded for certain', () => {
    const all = excludeTypes(ofChunks(), ['error'] as ChunkType[])
    expectTypeOf(all).toEqualTypeOf<AsyncIterableIterator<Chunk, undefined>>()
    const either = excludeTypes(ofChunks(), ['text-end', 'error' as 'error' | 'text-delta'])
    expectTypeOf(either).toEqualTypeOf<AsyncIterableIterator<Exclude<Chunk, { type: 'text-end' }>, undefined>>()
    const noWeather = excludeTypes(ofChunks(), ['data-weather'])
    expectTypeOf(noWeather).toEqualTypeOf<AsyncIterableIterator<Chunk, undefined>>()
  })
})

describe('filterWith', () => {
  it('keeps items that pass, and narrows by a guard', async () => {
    const important = filterWith(ofChunks(), chunk => chunk.type === 'error' || chunk.type === 'output')
    expectTypeOf(important).toEqualTypeOf<AsyncIterableIterator<ErrorChunk | ChunkOf<'output'>, undefined>>()
    expect(await collectAll(important)).toEqual([error])
    const late = filterWith(ofEntries(), ({ sequence }) => sequence > 5)
    expectTypeOf(late).toEqualTypeOf<AsyncIterableIterator<Entry, undefined>>()
    expect(await collectAll(late)).toEqual([entries[5]])
  })

  it('releases the source when the test throws', async () => {
    const source = ofChunks()
    const failing = filterWith(source, () => {
      throw new TypeError('no')
    })
    await expect(collectAll(failing)).rejects.toThrow(TypeError)
    expect(source).toMatchObject({ pulls: 1, returns: 1 })
  })
})

describe('filterByAgentId and filterByAgentType', () => {
  it('keep the entries of an agent, and none of guests', async () => {
    expect(await collectAll(filterByAgentId(ofEntries(), 'a1'))).toEqual([entries[1], entries[3]])
    expect(await collectAll(filterByAgentType(ofEntries(), 'poet'))).toEqual([entries[0], entries[4], entries[5]])
  })

  it('keep the type of the entries', () => {
    const narrow = filterByAgentId(filterByType(ofEntries(), ['text-delta']), 'r')
    expectTypeOf(narrow).toEqualTypeOf<AsyncIterableIterator<Entry<TextDeltaChunk>, undefined>>()
  })

  it('do not accept chunks, which have no origin', () => {
    // @ts-expect-error a chunk has no origin
    expect(() => filterByAgentId(ofChunks(), 'r')).not.toThrow()
    // @ts-expect-error a chunk has no origin
    expect(() => filterByAgentType(ofChunks(), 'poet')).not.toThrow()
  })
})
