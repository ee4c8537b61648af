import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { embedSchema } from './embed-schema.ts'
import { sharedFormChecks } from './form-checks.fixture.ts'
import { formResponseProblem } from './form-response.ts'
import { type JsonSchema, jsonSchemaOf } from './schema.ts'

const checks = sharedFormChecks()

/** Whether a value fits a schema, alone and within another one, that has definitions of the same names. */
async function fits(schema: JsonSchema, value: unknown): Promise<readonly [alone: boolean, within: boolean]> {
  const embedded = embedSchema(schema, 'own')
  const other = embedSchema({ $defs: { kid: { type: 'null' } }, $ref: '#/$defs/kid' }, 'other')
  const whole = {
    type: 'object',
    properties: { own: embedded.schema, other: { anyOf: [other.schema] } },
    required: ['own', 'other'],
    $defs: { ...embedded.definitions, ...other.definitions },
  }
  return [
    (await formResponseProblem(schema, value, checks)) === undefined,
    (await formResponseProblem(whole, { own: value, other: null }, checks)) === undefined,
  ]
}

const node = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }
const kids = (ref: string) => ({
  ...node,
  properties: { ...node.properties, kids: { type: 'array', items: { $ref: ref } } },
})

describe('embedSchema', () => {
  test.each<[string, JsonSchema]>([
    ['by its root', kids('#')],
    ['by a definition', { ...kids('#/$defs/kid'), $defs: { kid: kids('#/$defs/kid') } }],
    ['by an older definition', { ...kids('#/definitions/kid'), definitions: { kid: kids('#') } }],
    [
      'by definitions of one name',
      { ...kids('#/$defs/kid'), $defs: { kid: kids('#/definitions/kid') }, definitions: { kid: node } },
    ],
    [
      'by a path in a definition',
      { ...kids('#/$defs/all/properties/kid'), $defs: { all: { properties: { kid: node } } } },
    ],
    [
      'by a path in its properties',
      { ...kids('#/properties/one'), properties: { ...kids('#/properties/one').properties, one: node } },
    ],
    ['in anyOf', { anyOf: [{ type: 'null' }, kids('#')] }],
  ])('accepts the same values for a schema with a reference to itself %s', async (_, schema) => {
    expect(await fits(schema, { name: 'a', kids: [{ name: 'b', kids: [{ name: 'c' }] }] })).toEqual([true, true])
    expect(await fits(schema, { name: 'a', kids: [{ name: 1 }] })).toEqual([false, false])
  })

  test('accepts the same values for a recursive zod schema, and keeps its description', async () => {
    const Tree = z
      .object({
        name: z.string(),
        get kids() {
          return z.array(Tree)
        },
      })
      .describe('A family')
    const schema = jsonSchemaOf(Tree, 'Tree')
    expect(await fits(schema, { name: 'a', kids: [{ name: 'b', kids: [] }] })).toEqual([true, true])
    expect(await fits(schema, { name: 'a', kids: [{ name: 'b' }] })).toEqual([false, false])
    expect(embedSchema(schema, 'tree').definitions['tree']).toMatchObject({ description: 'A family' })
  })
})

test('keeps a schema without references, except for $schema', () => {
  const schema = { ...node, description: 'Somebody' }
  expect(embedSchema({ $schema: 'https://json-schema.org/draft/2020-12/schema', ...schema }, 'own')).toEqual({
    schema,
    definitions: {},
  })
})

test('rewrites only references: not values, properties named $ref, absolute URLs or schemas with $id', () => {
  const schema = {
    properties: {
      $ref: { const: { $ref: '#' } },
      other: { $ref: 'https://example.com/other.json#/$defs/kid' },
      own: { $id: 'https://example.com/own.json', properties: { again: { $ref: '#' } } },
    },
    default: { $ref: '#' },
  }
  expect(embedSchema(schema, 'own')).toEqual({ schema, definitions: {} })
  const { own } = schema.properties
  expect(embedSchema(own, 'own')).toEqual({ schema: own, definitions: {} })
})
