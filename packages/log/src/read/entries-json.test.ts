import { type Chunk, type Origin, packFrame } from '@millrace/protocol'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { decodeBatch, type NewEntry } from '../store/entry.ts'
import type { StoredBatch } from '../store/log-store.ts'
import { MAIN, storedBatches } from '../store/stored-batches.fixture.ts'
import { entriesJson, isPlain } from './entries-json.ts'

/** The JSON of a frame of these batches, built from their entries. */
const packed = (batches: readonly StoredBatch[]): unknown => {
  const entries = batches.flatMap(decodeBatch)
  const sequence = batches.at(-1)?.last ?? 0
  const frame = packFrame({ type: 'entries', after: 0, sequence, cursor: `${sequence}.a.b`, entries })
  return JSON.parse(JSON.stringify('entries' in frame ? frame.entries : undefined))
}

const delta = (text: string): Chunk => ({ type: 'text-delta', id: 'text-1', delta: text })

it('the stored JSON equals the JSON of a frame, without repeated origins', () => {
  const child: Origin = { ...MAIN, lane: 'child', agentId: 'agent-2', agentType: 'finder' }
  const batches = storedBatches([
    [
      { origin: MAIN, chunk: delta('a') },
      { origin: MAIN, chunk: delta('b"}},') },
    ],
    [{ origin: { ...MAIN }, chunk: delta('c') }],
    [
      { origin: child, chunk: delta('d') },
      { origin: MAIN, chunk: delta('e') },
    ],
    [{ origin: { guest: 'ann' }, chunk: { type: 'stop-requested', runId: 'run-1' } }],
  ])
  const text = entriesJson(batches)
  expect(JSON.parse(text as string)).toEqual(packed(batches))
  expect(text?.match(/"origin"/g)).toHaveLength(4)
})

it.each([
  ['a text that looks like the end of an entry', delta('},{')],
  ['nested data that looks like entries', { type: 'data-list', data: [{ a: 1 }, { chunk: delta('a') }] }],
])('leaves %s to the parser', (_, chunk) => {
  expect(entriesJson(storedBatches([[{ origin: MAIN, chunk: chunk as Chunk }]]))).toBeUndefined()
})

it('returns undefined for a batch that ends beyond the head', () => {
  const [batch] = storedBatches([
    [
      { origin: MAIN, chunk: delta('a') },
      { origin: MAIN, chunk: delta('b') },
    ],
  ]) as [StoredBatch]
  expect(entriesJson([{ ...batch, last: 1 }])).toBeUndefined()
})

it('treats a batch with internal or transient entries as not plain', () => {
  const plain: NewEntry = { origin: MAIN, chunk: delta('internal, transient') }
  const others: NewEntry[] = [
    { origin: MAIN, chunk: delta('a'), internal: true },
    { origin: MAIN, chunk: { type: 'data-place', data: 1, transient: true } },
  ]
  expect(storedBatches([[plain], ...others.map(entry => [plain, entry])]).map(isPlain)).toEqual([true, false, false])
})

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 6 }),
  fc.constantFrom('},{', '"}},{"chunk":', '\\', '"', '\n', 'internal', ',"origin":{"', '}'),
)
const value = fc.letrec(tie => ({
  json: fc.oneof(
    { depthSize: 'small' },
    text,
    fc.integer(),
    fc.array(tie('json'), { maxLength: 3 }),
    fc.dictionary(fc.oneof(fc.constantFrom('chunk', 'origin', 'blobs'), text), tie('json'), { maxKeys: 3 }),
  ),
})).json
const origin = fc.oneof(
  fc.record({ runId: text, lane: text, agentId: text, agentType: text, step: fc.nat(2) }),
  fc.record({ guest: text }),
) as fc.Arbitrary<Origin>
const chunk = fc.oneof(text.map(delta), fc.record({ type: fc.constant('data-x'), data: value })) as fc.Arbitrary<Chunk>
const entry = (origins: readonly Origin[]) =>
  fc.record(
    {
      origin: fc.constantFrom(...origins),
      chunk,
      blobs: fc.constant({ '/data': { hash: 'a', bytes: 1 } }),
    },
    { requiredKeys: ['origin', 'chunk'] },
  ) as fc.Arbitrary<NewEntry>

it('equals the JSON of the entries, or returns nothing, for any content', () => {
  let checkedCount = 0
  const log = fc
    .array(origin, { minLength: 1, maxLength: 2 })
    .chain(origins =>
      fc.array(fc.array(entry(origins), { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 4 }),
    )
  fc.assert(
    fc.property(log, entries => {
      const batches = storedBatches(entries)
      const json = entriesJson(batches)
      if (json === undefined) return
      checkedCount++
      expect(JSON.parse(json)).toEqual(packed(batches))
    }),
    { numRuns: 1_000 },
  )
  expect(checkedCount).toBeGreaterThan(100)
})
