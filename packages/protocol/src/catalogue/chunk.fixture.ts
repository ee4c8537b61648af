// Arbitrary chunks, entries and frames, valid by construction: they derive from the same table as the checks.

import * as fc from 'fast-check'
import { type Entry, entryFields, type Origin, origins } from '../entry/entry.ts'
import { type Frame, frames } from '../frame/frame.ts'
import { catalogue, dataRow, type Row } from './catalogue.ts'
import type { Chunk, ChunkOf, ChunkType, DataChunk } from './chunk.ts'
import { type FieldTypes, type NamedType, types } from './field-types.ts'

type Values = { [name: string]: fc.Arbitrary<unknown> }

const json = fc.jsonValue({ maxDepth: 2 })

const arbitraries = new Map<string, fc.Arbitrary<unknown>>([
  ['string', fc.string()],
  ['number', fc.double({ noNaN: true, noDefaultInfinity: true })],
  ['count', fc.maxSafeNat()],
  ['sequence', fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })],
  ['boolean', fc.boolean()],
  ['true', fc.constant(true)],
  ['1', fc.constant(1)],
  ['json', json],
  ['object', dictionary(json)],
])

function arbitraryOf(name: string): fc.Arbitrary<unknown> {
  let arbitrary = arbitraries.get(name)
  if (arbitrary === undefined) {
    const item = name.slice(0, -2)
    arbitrary = name.endsWith('[]')
      ? fc.array(arbitraryOf(item), { maxLength: 3 })
      : name.endsWith('{}')
        ? dictionary(arbitraryOf(item))
        : named(types[name as keyof typeof types])
    arbitraries.set(name, arbitrary)
  }
  return arbitrary
}

function dictionary(item: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc.dictionary(fc.string(), item, { maxKeys: 3, noNullPrototype: true })
}

function named(type: NamedType): fc.Arbitrary<unknown> {
  if ('fields' in type) return arbitraryFields(type.fields)
  if (!('on' in type)) return fc.constantFrom(...type)
  return fc.oneof(
    ...Object.entries(type.kinds).map(([kind, fields]) => arbitraryFields(fields, { [type.on]: tag(kind) })),
  )
}

const tag = (kind: string): fc.Arbitrary<string> =>
  kind === 'data-*' ? fc.string().map(name => `data-${name}`) : fc.constant(kind)

/** An object of these fields, in the notation of the catalogue, plus the fields of `first`. */
function arbitraryFields(fields: FieldTypes, first: Values = {}): fc.Arbitrary<unknown> {
  const entries = Object.entries(fields)
  const values = entries.map(([name, type]) => [name, arbitraryOf(type.replace('?', ''))] as const)
  const required = entries.filter(([, type]) => !type.endsWith('?')).map(([name]) => name)
  return fc.record(
    { ...first, ...Object.fromEntries(values) },
    { requiredKeys: [...Object.keys(first), ...required], noNullPrototype: true },
  )
}

function arbitraryRow(type: string, row: Row): fc.Arbitrary<unknown> {
  if (row.kinds === undefined) return arbitraryFields(row.fields, { type: tag(type) })
  return fc.oneof(
    ...Object.entries(row.kinds).map(([kind, fields]) =>
      arbitraryFields({ ...row.fields, ...fields }, { type: tag(type), kind: fc.constant(kind) }),
    ),
  )
}

const rows = new Map(
  Object.entries({ ...catalogue, 'data-*': dataRow }).map(([type, row]) => [type, arbitraryRow(type, row)]),
)

/** A valid chunk, of one type of the catalogue (`data-*` for the open family) or of any of them. */
export function arbitraryChunk<Type extends ChunkType>(type: Type): fc.Arbitrary<ChunkOf<Type>>
export function arbitraryChunk(type: 'data-*'): fc.Arbitrary<DataChunk>
export function arbitraryChunk(type?: ChunkType | 'data-*'): fc.Arbitrary<Chunk>
export function arbitraryChunk(type?: string): fc.Arbitrary<unknown> {
  return type === undefined ? fc.oneof(...rows.values()) : (rows.get(type) as fc.Arbitrary<unknown>)
}

/** A valid origin, a writer's or a guest's. */
export const arbitraryOrigin = (): fc.Arbitrary<Origin> =>
  fc.oneof(arbitraryFields(origins.writer), arbitraryFields(origins.guest)) as fc.Arbitrary<Origin>

/** A valid entry with a chunk of any type. */
export function arbitraryEntry(): fc.Arbitrary<Entry> {
  const { origin, chunk, ...position } = entryFields
  return arbitraryFields(position, { origin: arbitraryOrigin(), chunk: arbitraryChunk() }) as fc.Arbitrary<Entry>
}

/** A valid frame of any type. Its entries are valid one by one, but not as part of one log. */
export function arbitraryFrame(): fc.Arbitrary<Frame> {
  const { entries, ...rest } = frames.entries
  const all = { ...frames, entries: rest }
  return fc.oneof(
    ...Object.entries(all).map(([type, fields]) =>
      arbitraryFields(fields, {
        type: fc.constant(type),
        ...(type === 'entries' && { entries: fc.array(arbitraryEntry(), { maxLength: 3 }) }),
      }),
    ),
  ) as fc.Arbitrary<Frame>
}
