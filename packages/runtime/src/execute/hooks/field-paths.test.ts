import { expect, test } from 'vitest'
import { z } from 'zod'
import { jsonSchemaOf } from '../../schema/schema.ts'
import { mayHaveField } from './field-paths.ts'

const Tree = z.object({
  name: z.string(),
  get kids() {
    return z.array(Tree)
  },
})
const schema = z.object({
  title: z.string(),
  note: z.string().nullable(),
  rows: z.array(z.object({ item: z.string(), tags: z.array(z.string()) })),
  prices: z.record(z.string(), z.object({ cents: z.number() })),
  tree: Tree,
  either: z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]),
  loose: z.looseObject({ known: z.string() }),
  any: z.any(),
})

test.each([
  'title',
  '*',
  'note',
  'rows',
  'rows.*.item',
  'rows.0.tags',
  '*.0.item',
  'prices.mill.cents',
  'prices.*.cents',
  'tree.kids.*.kids.0.name',
  'either.a',
  'either.b',
  'loose.other.deep',
  'any.where.at.all',
])('the schema allows %s', path => expect(mayHaveField(jsonSchemaOf(schema, 'schema'), path)).toBe(true))

test.each([
  'titel',
  'title.of',
  'rows.item',
  'rows.*.items',
  'prices.mill.cent',
  'tree.kids.*.kid',
  'either.c',
  '*.nothing.here.x',
])('the schema never allows %s', path => {
  const { any: _, loose: __, prices: ___, ...closed } = schema.shape
  const testedSchema = path.startsWith('*') ? z.object(closed) : schema
  expect(mayHaveField(jsonSchemaOf(testedSchema, 'schema'), path)).toBe(false)
})

test('accepts any field if a reference has no target', () => {
  expect(mayHaveField({ $ref: '#' }, 'a')).toBe(true)
  expect(mayHaveField({ $ref: 'https://example.com/other.json' }, 'a')).toBe(true)
  expect(mayHaveField({ type: 'object' }, 'a')).toBe(true)
})
