import { expect, test } from 'vitest'
import { sharedFormChecks } from '../schema/form-checks.fixture.ts'
import { relaxSchema } from '../schema/relax-schema.ts'
import type { JsonSchema } from '../schema/schema.ts'
import { MAX_SCHEMA_DEPTH, MAX_SCHEMA_LENGTH, serverSchema as serverSchemaWith } from './server-schema.ts'

const EVIL = '^(a+)+$'
const BAIT = `${'a'.repeat(60)}!`

const { checker } = sharedFormChecks()
const serverSchema = (schema: JsonSchema) => serverSchemaWith(schema, { checker, server: 'test' })

const takes = async (schema: JsonSchema, value: unknown): Promise<boolean> =>
  !('issues' in (await (await serverSchema(schema))['~standard'].validate(value)))

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
])('does not run a regular expression in %s', async (_, schema, value) => {
  expect(await takes(schema, value)).toBe(true)
})

test.each<[string, JsonSchema]>([
  ['a property whose schema is a string', { properties: { pattern: 'x' }, $ref: '#/properties' }],
  ['multipleOf that is an object', { multipleOf: { pattern: 'x' } }],
  ['$anchor that is an object', { $anchor: { pattern: 'x' } }],
  ['a reference of the root to an unknown keyword', { $ref: '#/x-hidden', 'x-hidden': { pattern: EVIL } }],
])('rejects a schema with %s', async (_, schema) => {
  await expect(serverSchema(schema)).rejects.toThrow()
})

test('checks everything else, also properties named like keywords', async () => {
  const schema = {
    type: 'object',
    properties: { pattern: { type: 'number' }, format: { enum: ['a', 'b'] }, tags: { pattern: 'x', minLength: 2 } },
    required: ['pattern'],
  }
  expect(await takes(schema, { pattern: 1, format: 'a', tags: 'yy' })).toBe(true)
  expect(await takes(schema, { pattern: 'one' })).toBe(false)
  expect(await takes(schema, { pattern: 1, format: 'c' })).toBe(false)
  expect(await takes(schema, { pattern: 1, tags: 'y' })).toBe(false)
  expect(await takes(schema, {})).toBe(false)
})

test('checks a schema without such keywords unchanged', async () => {
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
])('accepts everything that the original schema accepts: %s', async (_, schema, value) => {
  expect(await takes(schema, value)).toBe(true)
})

test('aborts endless and exponential references in time', async () => {
  const $defs = Object.fromEntries(
    Array.from({ length: 40 }, (_, at) => [
      `d${at}`,
      { allOf: [{ $ref: `#/$defs/d${at + 1}` }, { $ref: `#/$defs/d${at + 1}` }] },
    ]),
  )
  const doubling = { $ref: '#/$defs/d0', $defs: { ...$defs, d40: { type: 'object' } } }
  await expect(serverSchema(doubling)).rejects.toThrow('it cannot be checked')
  const inProperty = await serverSchema({ properties: { x: { $ref: '#/$defs/d0' } }, $defs: doubling.$defs })
  expect(await inProperty['~standard'].validate({ x: {} })).toEqual({
    issues: [{ message: expect.stringContaining('it cannot be checked') }],
  })
  await expect(serverSchema({ $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/a' } } })).rejects.toThrow(
    'it refers to itself',
  )
  await expect(serverSchema({ allOf: [{ $ref: '#' }] })).rejects.toThrow('it refers to itself')
})

test('does not compare a large list with itself', async () => {
  const value = Array.from({ length: 100_000 }, (_, at) => ({ at }))
  expect(await takes({ type: 'array', uniqueItems: true }, value)).toBe(true)
})

test('rejects schemas that are too large or nested too deep', async () => {
  await expect(serverSchema({ description: 'x'.repeat(MAX_SCHEMA_LENGTH) })).rejects.toThrow(
    `expected at most ${MAX_SCHEMA_LENGTH} characters of JSON, found`,
  )
  let deep: JsonSchema = {}
  for (let level = 0; level < 100_000; level++) deep = { not: deep }
  await expect(serverSchema(deep)).rejects.toThrow('it is nested too deep')
  let fine: JsonSchema = {}
  for (let level = 1; level < MAX_SCHEMA_DEPTH; level++) fine = { not: fine }
  await expect(serverSchema(fine)).resolves.toBeDefined()
})

test('truncates the problems of a value', async () => {
  const names = Array.from({ length: 50 }, (_, at) => `${at}${'x'.repeat(150)}`)
  const checked = await (await serverSchema({ required: names }))['~standard'].validate({})
  expect(checked).toMatchObject({ issues: [{ message: expect.stringMatching(/^.{1000}…$/) }] })
})

test('rejects schemas with an unknown type, or a reference without a target that no value reached yet', async () => {
  await expect(serverSchema({ properties: { x: { type: 'text' } } })).rejects.toThrow('it has a type')
  await expect(serverSchema({ properties: { x: { $ref: '#/$defs/none' } } })).rejects.toThrow('without a target')
})
