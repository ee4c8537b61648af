import type { StructuredDataChunk } from '@millrace/dialects/kortyx'
import { StructuredAccumulator } from '@millrace/protocol'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { multiplied } from '../../scripts/faults/campaign.ts'
import { type KortyxState, reduceLikeKortyx } from './kortyx-reducer.fixture.ts'

const about = { type: 'structured-data', streamId: 's', dataType: 'd' } as const
const path = fc.array(fc.constantFrom('a', 'b', '0', '1', '2', '5'), { minLength: 1, maxLength: 4 })
const value = fc.constantFrom(1, 'v', null, [], {}, [1, null], { b: 'x' }, [[], {}])
const chunk: fc.Arbitrary<StructuredDataChunk> = fc.oneof(
  fc
    .record({ path, value })
    .map(({ path, value }) => ({ ...about, kind: 'set' as const, path: path.join('.'), value })),
  path.map(segments => ({ ...about, kind: 'append' as const, path: segments.join('.'), items: ['i'] })),
  path.map(segments => ({ ...about, kind: 'text-delta' as const, path: segments.join('.'), delta: 't' })),
)

/** The next state of a Kortyx page, or undefined if it does not accept the chunk. */
function shownAfter(page: KortyxState | undefined, next: StructuredDataChunk): KortyxState | undefined {
  try {
    return reduceLikeKortyx(page, next)
  } catch {
    return undefined
  }
}

test('writes in any order that a Kortyx page accepts give its data here, also after a restore from a snapshot', () => {
  const property = fc.property(fc.array(fc.tuple(chunk, fc.boolean()), { maxLength: 30 }), steps => {
    let ours = new StructuredAccumulator()
    let page: KortyxState | undefined
    for (const [next, restores] of steps) {
      const shown = shownAfter(page, next)
      if (shown === undefined) continue
      page = shown
      ours.write(next)
      if (restores) ours = StructuredAccumulator.restore(JSON.parse(JSON.stringify(ours.snapshot())))
      expect(JSON.stringify(ours.read()?.data)).toBe(JSON.stringify(page.data))
    }
  })
  fc.assert(property, { numRuns: multiplied(500) })
})
