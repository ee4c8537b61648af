import { type Chunk, coalesce, type Origin } from '@millrace/protocol'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeBatch, type NewEntry } from '../store/entry.ts'
import type { StoredBatch } from '../store/log-store.ts'
import { MAIN, storedBatches } from '../store/stored-batches.fixture.ts'
import { decodeJoined } from './join-deltas.ts'

const entriesOf = (...chunks: readonly object[]): NewEntry[] =>
  chunks.map(chunk => ({ origin: MAIN, chunk: chunk as unknown as Chunk }))
const delta = (text: string, more: object = {}) => ({ type: 'text-delta', id: 'text-1', delta: text, ...more })

describe('consecutive deltas', () => {
  it('are joined into one entry, within a batch and across batches', () => {
    const parts = [
      entriesOf({ type: 'text-start', id: 'text-1' }, delta('a')),
      entriesOf(delta('b')),
      entriesOf(delta('"c"\\'), delta('\n')),
    ]
    const joined = decodeJoined(storedBatches(parts))
    expect(joined.map(({ sequence, timestamp, chunk }) => ({ sequence, timestamp, chunk }))).toEqual([
      { sequence: 1, timestamp: 1_000, chunk: { type: 'text-start', id: 'text-1' } },
      { sequence: 2, timestamp: 1_000, chunk: delta('ab"c"\\\n') },
    ])
  })

  it.each<[string, readonly (readonly NewEntry[])[]]>([
    ['if they are of different parts', [entriesOf(delta('a')), entriesOf(delta('b', { id: 'text-2' }))]],
    ['if they are of different types', [entriesOf(delta('a')), entriesOf(delta('b', { type: 'reasoning-delta' }))]],
    ['if one has additional fields', [entriesOf(delta('a')), entriesOf(delta('b', { language: 'en' }), delta('c'))]],
    [
      'if they are of different lanes',
      [entriesOf(delta('a')), entriesOf(delta('b')).map(entry => ({ ...entry, origin: { ...MAIN, lane: 'b' } }))],
    ],
    [
      'if a start with the same id is between them',
      [entriesOf(delta('a')), entriesOf({ type: 'text-start', id: 'text-1' }, delta('b'))],
    ],
  ])('are not joined %s', (_, batches) => {
    const all = storedBatches(batches)
    expect(decodeJoined(all)).toEqual(all.flatMap(decodeBatch))
  })

  it('are joined up to the head of the log only', () => {
    const [one, two] = storedBatches([entriesOf(delta('a')), entriesOf(delta('b'), delta('c'))]) as [
      StoredBatch,
      StoredBatch,
    ]
    expect(coalesce(decodeJoined([one, { ...two, last: 2 }]))).toMatchObject([{ chunk: delta('ab') }])
  })
})

const text = fc.oneof(
  { arbitrary: fc.string({ unit: 'binary', maxLength: 4 }), weight: 3 },
  fc.constantFrom(
    '"',
    '\\',
    '\\"',
    '"}},{"chunk":{"type":"text-delta","id":"text-1","delta":"',
    '"}}]',
    '\ud83d',
    '\ude00',
  ),
)
const chunk = fc.oneof(
  { arbitrary: text.map(added => delta(added)), weight: 8 },
  text.map(added => delta(added, { id: 'text-2' })),
  text.map(added => ({ type: 'tool-input-delta', toolCallId: 'text-1', delta: added })),
  text.map(added => delta(added, { language: 'en' })),
  text.map(added => ({ id: 'text-1', type: 'text-delta', delta: added })),
  fc.constantFrom({ type: 'text-start', id: 'text-1' }, { type: 'checkpoint-created', checkpointId: 'a' }),
  text.map(data => ({ type: 'data-x', data: [{ chunk: delta(data) }, { chunk: delta(data) }] })),
)
const OTHERS: Origin[] = [{ ...MAIN }, { ...MAIN, step: 2 }, { ...MAIN, lane: 'b' }, { guest: 'ann' }]
const origin = fc.oneof({ arbitrary: fc.constant(MAIN), weight: 8 }, fc.constantFrom(...OTHERS))

it('joining before merging gives the same result as merging all entries', () => {
  let fewer = 0
  const entry = fc.record({ origin, chunk }) as unknown as fc.Arbitrary<NewEntry>
  const log = fc.array(fc.array(entry, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 8 })
  fc.assert(
    fc.property(log, entries => {
      const batches = storedBatches(entries)
      const all = batches.flatMap(decodeBatch)
      const joined = decodeJoined(batches)
      if (joined.length < all.length) fewer++
      expect(coalesce(joined)).toEqual(coalesce(all))
    }),
    { numRuns: 1_000 },
  )
  expect(fewer).toBeGreaterThan(100)
})
