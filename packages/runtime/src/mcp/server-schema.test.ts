import { expect, test } from 'vitest'
import { relaxSchema } from '../schema/relax-schema.ts'
import type { JsonSchema } from '../schema/schema.ts'
import { CHECK_TIMEOUT_MS, MAX_SCHEMA_DEPTH, MAX_SCHEMA_LENGTH, serverSchema } from './server-schema.ts'

const EVIL = '^(a+)+$'
const BAIT = `${'a'.repeat(60)}!`

const takes = (schema: JsonSchema, value: unknown): boolean =>
  !('issues' in Object(serverSchema(schema)['~standard'].validate(value)))

test.each<[string, JsonSchema, unknown]>([
  ['a pattern', { properties: { x: { pattern: EVIL } } }, { x: BAIT }],
  ['patternProperties', { patternProperties: { [EVIL]: {} }, additionalProperties: false }, { [BAIT]: 1 }],
  ['propertyNames', { propertyNames: { pattern: EVIL } }, { [BAIT]: 1 }],
  ['a reference', { properties: { x: { $ref: '#/$defs/s' } }, $defs: { s: { pattern: EVIL } } }, { x: BAIT }],
  [
    'a reference to an unknown keyword',
    { properties: { x: { $ref: '#/x-hidden' } }, 'x-hidden': { pattern: EVIL }, format: 'x' },
    { x: BAIT },
  ],
  [
    'a reference to a value',
    { properties: { x: { $ref: '#/properties/y/const' }, y: { const: { pattern: EVIL } } } },
    { x: BAIT },
  ],
  [
    'a reference to a list of values',
    { properties: { x: { $ref: '#/enum/0' } }, enum: [{ pattern: EVIL }] },
    { x: BAIT },
  ],
  ['draft-07', { $schema: 'http://json-schema.org/draft-07/schema#', items: [{ pattern: EVIL }] }, [BAIT]],
])('does not run a regular expression in %s', (_, schema, value) => {
  expect(takes(schema, value)).toBe(true)
})

test.each<[string, JsonSchema]>([
  ['a property whose schema is a string', { properties: { pattern: 'x' }, $ref: '#/properties' }],
  ['multipleOf that is an object', { multipleOf: { pattern: 'x' } }],
  ['$anchor that is an object', { $anchor: { pattern: 'x' } }],
  ['a reference of the root to an unknown keyword', { $ref: '#/x-hidden', 'x-hidden': { pattern: EVIL } }],
])('rejects a schema with %s', (_, schema) => {
  expect(() => serverSchema(schema)).toThrow()
})

test('checks everything else, also properties named like keywords', () => {
  const schema = {
    type: 'object',
    properties: { pattern: { type: 'number' }, format: { enum: ['a', 'b'] }, tags: { pattern: 'x', minLength: 2 } },
    required: ['pattern'],
  }
  expect(takes(schema, { pattern: 1, format: 'a', tags: 'yy' })).toBe(true)
  expect(takes(schema, { pattern: 'one' })).toBe(false)
  expect(takes(schema, { pattern: 1, format: 'c' })).toBe(false)
  expect(takes(schema, { pattern: 1, tags: 'y' })).toBe(false)
  expect(takes(schema, {})).toBe(false)
})

test('checks a schema without such keywords unchanged', () => {
  const schema = { oneOf: [{ type: 'number' }, { multipleOf: 2 }], not: { const: 7 }, maxItems: 3 }
  expect(relaxSchema({ ...schema, title: 'A number' })).toEqual({ schema, isRelaxed: false })
})

test.each<[string, JsonSchema, unknown]>([
  ['not', { not: { pattern: 'x' } }, 'y'],
  [
    'oneOf',
    {
      oneOf: [
        { type: 'string', format: 'email' },
        { type: 'string', format: 'uri' },
      ],
    },
    'a@b.de',
  ],
  ['oneOf and anyOf', { oneOf: [{ pattern: 'a' }, { pattern: 'b' }], anyOf: [{ type: 'string' }] }, 'a'],
  [
    'oneOf with references',
    { oneOf: [{ $ref: '#/$defs/a' }, { $ref: '#/$defs/b' }], $defs: { a: { pattern: 'a' }, b: { pattern: 'b' } } },
    'a',
  ],
  [
    'a reference by path',
    { properties: { a: { oneOf: [{ pattern: 'a' }, {}] }, b: { $ref: '#/properties/a/oneOf/0' } } },
    { b: 'a' },
  ],
  ['if', { if: { not: { pattern: 'x' } }, else: { type: 'number' } }, 'y'],
  ['maxContains', { contains: { pattern: 'x' }, maxContains: 1 }, ['x', 'y']],
  [
    'unevaluatedProperties',
    { patternProperties: { '^x': { type: 'number' } }, unevaluatedProperties: false },
    { x1: 1 },
  ],
])('accepts everything that the original schema accepts: %s', (_, schema, value) => {
  expect(takes(schema, value)).toBe(true)
})

test('aborts endless and exponential references in time', () => {
  const $defs = Object.fromEntries(
    Array.from({ length: 40 }, (_, at) => [
      `d${at}`,
      { allOf: [{ $ref: `#/$defs/d${at + 1}` }, { $ref: `#/$defs/d${at + 1}` }] },
    ]),
  )
  const doubling = serverSchema({ $ref: '#/$defs/d0', $defs: { ...$defs, d40: { type: 'object' } } })
  expect(() => doubling['~standard'].validate({})).toThrow(`it cannot be checked within ${CHECK_TIMEOUT_MS} ms`)
  expect(() => serverSchema({ $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/a' } } })).toThrow()
  const endless = serverSchema({ allOf: [{ $ref: '#' }] })
  expect(() => endless['~standard'].validate({})).toThrow()
})

test('does not compare a large list with itself', () => {
  const value = Array.from({ length: 100_000 }, (_, at) => ({ at }))
  expect(takes({ type: 'array', uniqueItems: true }, value)).toBe(true)
})

test('rejects schemas that are too large or nested too deep', () => {
  expect(() => serverSchema({ description: 'x'.repeat(MAX_SCHEMA_LENGTH) })).toThrow(
    `expected at most ${MAX_SCHEMA_LENGTH} characters of JSON, found`,
  )
  let deep: JsonSchema = {}
  for (let level = 0; level < 100_000; level++) deep = { not: deep }
  expect(() => serverSchema(deep)).toThrow('it is nested too deep')
  let fine: JsonSchema = {}
  for (let level = 1; level < MAX_SCHEMA_DEPTH; level++) fine = { not: fine }
  expect(() => serverSchema(fine)).not.toThrow()
})

test('truncates the problems of a value', () => {
  const checked = serverSchema({ items: { type: 'number' } })['~standard'].validate(Array(100_000).fill('x'))
  expect(checked).toMatchObject({ issues: [{ message: expect.stringMatching(/^.{1000}…$/) }] })
})
