import fc from 'fast-check'
import type { StructuredDataChunk } from '../catalogue/guards.ts'
import type { Json } from '../json/json.ts'
import { freeze } from './structured-model.fixture.ts'

const head = { type: 'structured-data', streamId: 's', dataType: 'd' } as const
type Extra = Partial<Pick<StructuredDataChunk, 'streamId' | 'dataType' | 'schemaId' | 'schemaVersion' | 'id' | 'node'>>

export const set = (path: string, value: Json, extra?: Extra): StructuredDataChunk =>
  freeze({ ...head, kind: 'set', path, value, ...extra })
export const append = (path: string, items: Json[], extra?: Extra): StructuredDataChunk =>
  freeze({ ...head, kind: 'append', path, items, ...extra })
export const text = (path: string, delta: string, extra?: Extra): StructuredDataChunk =>
  freeze({ ...head, kind: 'text-delta', path, delta, ...extra })
export const final = (data: Json, extra?: Extra): StructuredDataChunk =>
  freeze({ ...head, kind: 'final', data, ...extra })

// Few paths, so that the writes of one sequence collide.
const segment = fc.constantFrom('a', 'b', '0', '1', '2', '5', '007', '__proto__', 'constructor')
const path = fc.oneof(
  { weight: 30, arbitrary: fc.array(segment, { minLength: 1, maxLength: 3 }).map(all => all.join('.')) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '',
      '.',
      'a..b',
      '.a',
      'a.',
      '*',
      'a.*',
      'a.1025',
      'a.1030',
      'a.4294967295',
      '600.425',
      'a.600.600',
    ),
  },
)
const value: fc.Arbitrary<Json> = fc.oneof(
  fc.constantFrom<Json>(1, 'v', null, [], {}, [1, 'x'], { b: 'x' }, { a: { 0: [] } }, [[], {}]),
  fc.constant<Json>(JSON.parse('{"__proto__":{"a":["y"]},"constructor":"z"}')),
)
const extra = fc.record(
  {
    dataType: fc.constantFrom('d', 'e'),
    node: fc.constantFrom('m', 'n'),
    id: fc.constant('i'),
    schemaId: fc.constant('c'),
  },
  { requiredKeys: [] },
)
const some = (weight: number, arbitrary: fc.Arbitrary<StructuredDataChunk>) => ({ weight, arbitrary })

/** Any valid chunk, most of them for the stream `s`. */
export const anyChunk: fc.Arbitrary<StructuredDataChunk> = fc
  .tuple(
    fc.oneof(
      some(
        8,
        fc.tuple(path, value).map(([at, one]) => set(at, one)),
      ),
      some(
        8,
        fc.tuple(path, fc.array(value, { maxLength: 3 })).map(([at, items]) => append(at, items)),
      ),
      some(
        8,
        fc.tuple(path, fc.constantFrom('', 'x', 'yz')).map(([at, delta]) => text(at, delta)),
      ),
      some(
        1,
        value.map(element => final(element)),
      ),
    ),
    fc.oneof(
      { weight: 6, arbitrary: fc.constant({}) },
      { weight: 2, arbitrary: extra },
      { weight: 1, arbitrary: fc.constant({ streamId: 't' }) },
    ),
  )
  .map(([chunk, more]) => freeze({ ...chunk, ...more }))
