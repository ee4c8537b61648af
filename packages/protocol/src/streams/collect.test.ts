import { describe, expect, expectTypeOf, it } from 'vitest'
import type { Chunk } from '../catalogue/chunk.ts'
import type { Entry } from '../entry/entry.ts'
import { collectAll, collectText } from './collect.ts'
import { Source } from './source.fixture.ts'

const chunks: Chunk[] = [
  { type: 'text-start', id: 'a' },
  { type: 'text-delta', id: 'a', delta: 'Hello' },
  { type: 'reasoning-delta', id: 'b', delta: 'hm' },
  { type: 'structured-data', streamId: 's', dataType: 'd', kind: 'text-delta', path: 'p', delta: 'no' },
  { type: 'text-delta', id: 'c', delta: ' world' },
]
const entries = chunks.map((chunk, i): Entry => ({ sequence: i + 1, timestamp: 0, origin: { guest: 'g' }, chunk }))

describe('collecting', () => {
  it('joins only the text of chunks or entries', async () => {
    expect(await collectText(new Source(chunks))).toBe('Hello world')
    expect(await collectText(new Source(entries))).toBe('Hello world')
    expect(await collectText(new Source<Chunk>([]))).toBe('')
  })

  it('keeps the type of the items', async () => {
    const all = await collectAll(new Source(entries))
    expect(all).toEqual(entries)
    expectTypeOf(all).toEqualTypeOf<Entry[]>()
  })
})
