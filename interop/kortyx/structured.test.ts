import { kortyxDialect, type StructuredDataChunk } from '@millrace/dialects/kortyx'
import { type Fields, FieldWatcher, StructuredAccumulator } from '@millrace/protocol'
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

test('the accumulator and a Kortyx page have the same data after writes in any order, also after a restore from a snapshot', () => {
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

// Digits are keys of objects and indexes of arrays, at any depth.
const keys = fc.constantFrom('a', '0', '1', '2024', '007', 'constructor')
const { document } = fc.letrec<{ document: unknown }>(tie => ({
  document: fc.oneof(
    { maxDepth: 4, depthSize: 'small', withCrossShrink: true },
    fc.constantFrom('a text', 7, null),
    fc.dictionary(keys, tie('document'), { maxKeys: 4 }),
    fc.array(tie('document'), { maxLength: 4 }),
  ),
}))
const fields = fc.tuple(fc.integer({ min: 1, max: 4 }), fc.constantFrom('set' as const, 'text-delta' as const))

/** Whether a partial value shows nothing that the complete one does not contain. */
function isPartOf(partial: unknown, complete: unknown): boolean {
  if (partial === undefined) return true
  if (typeof partial === 'string') return typeof complete === 'string' && complete.startsWith(partial)
  if (typeof partial !== 'object' || partial === null) return partial === complete
  if (typeof complete !== 'object' || complete === null || Array.isArray(partial) !== Array.isArray(complete))
    return false
  return Object.entries(partial).every(([key, value]) => isPartOf(value, Reflect.get(complete, key)))
}

test('a Kortyx page accepts every update of a streamed document, with digits as keys, and ends with the document', () => {
  const property = fc.property(document, fields, fc.integer({ min: 1, max: 9 }), (doc, [depth, kind], size) => {
    const declared: Fields = { [['doc', ...Array(depth).fill('*')].join('.')]: kind }
    const watcher = new FieldWatcher(declared)
    const encoder = kortyxDialect.encoder()
    const data = { head: 1, doc } as never
    const json = JSON.stringify(data)
    let page: KortyxState | undefined
    const show = (update: object) => {
      for (const event of encoder.encode({ chunk: { ...about, ...update } as StructuredDataChunk })) {
        if (event.type === 'structured-data') page = reduceLikeKortyx(page, event)
        expect(isPartOf(page?.data, data)).toBe(true)
      }
    }
    for (let at = 0; at < json.length; at += size) {
      for (const update of watcher.push(json.slice(at, at + size))) show(update)
    }
    show({ kind: 'final', data })
    expect(page).toMatchObject({ status: 'done', data })
  })
  fc.assert(property, { numRuns: multiplied(500) })
})
