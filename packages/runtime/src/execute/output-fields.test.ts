import { expect, test } from 'vitest'
import { z } from 'zod'
import { jsonSchemaOf } from '../schema/schema.ts'
import { outputFields } from './output-fields.ts'

const fields = (schema: z.ZodType) => Object.fromEntries(outputFields(jsonSchemaOf(schema, 'here')))

test('streams objects by field, lists by item and strings by delta', () => {
  const schema = z.object({
    title: z.string(),
    note: z.string().nullable(),
    more: z.string().optional(),
    count: z.number(),
    tags: z.array(z.string()),
    author: z.object({ name: z.string(), born: z.number() }),
    any: z.unknown(),
    map: z.record(z.string(), z.string()),
  })
  expect(fields(schema)).toEqual({
    title: 'text-delta',
    note: 'text-delta',
    more: 'text-delta',
    count: 'set',
    tags: 'append',
    'author.name': 'text-delta',
    'author.born': 'set',
    any: 'set',
    map: 'set',
  })
})

test('sets strings with a fixed set of values or a format whole', () => {
  const schema = z.object({
    kind: z.enum(['a', 'ab']),
    type: z.literal('x'),
    at: z.iso.datetime(),
    id: z.uuid(),
    nullable: z.enum(['a', 'ab']).nullable(),
    either: z.union([z.string(), z.number()]),
  })
  expect(new Set(Object.values(fields(schema)))).toEqual(new Set(['set']))
})

test('streams a list that is the whole document by index', () => {
  expect(fields(z.array(z.string()))).toEqual({ '*': 'text-delta' })
  expect(fields(z.array(z.object({ name: z.string(), tags: z.array(z.string()) })))).toEqual({
    '*.name': 'text-delta',
    '*.tags': 'append',
  })
})

test('sends keys without a path and deep values with their parent', () => {
  const schema = z.object({
    'a.b': z.string(),
    '*': z.string(),
    '': z.string(),
    '7': z.string(),
    ok: z.object({ b: z.object({ c: z.object({ d: z.object({ e: z.string() }) }) }) }),
  })
  expect(fields(schema)).toEqual({ 'ok.b.c.d': 'set' })
})

test('handles recursive, union and empty schemas', () => {
  const tree = z.object({
    name: z.string(),
    get kids() {
      return z.array(tree)
    },
  })
  expect(fields(tree)).toEqual({ name: 'text-delta', kids: 'append' })
  expect(fields(z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]))).toEqual({})
  expect(Object.fromEntries(outputFields({ type: 'object', properties: { a: true, b: null } }))).toEqual({
    a: 'set',
    b: 'set',
  })
  expect(Object.fromEntries(outputFields({}))).toEqual({})
})
