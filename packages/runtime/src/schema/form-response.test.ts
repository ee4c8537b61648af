import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { sharedFormChecks } from './form-checks.fixture.ts'
import {
  checkFormSchema as checkFormSchemaWith,
  formResponseProblem as formResponseProblemWith,
  MAX_FORM_DEPTH,
  MAX_FORM_LENGTH,
} from './form-response.ts'
import { type JsonSchema, jsonSchemaOf } from './schema.ts'

const checks = sharedFormChecks()
const checkFormSchema = (schema: unknown, label: string) => checkFormSchemaWith(schema, label, checks)
const formResponseProblem = (schema: unknown, response: unknown) => formResponseProblemWith(schema, response, checks)

const EVIL = '^(a+)+$'
const BAIT = `${'a'.repeat(60)}!`
const nested = (levels: number): JsonSchema => (levels === 0 ? {} : { not: nested(levels - 1) })

/** Definitions each of which asks for the one before it twice. */
function doubled(times: number): JsonSchema {
  const $defs: Record<string, JsonSchema> = { d0: { type: 'string' } }
  for (let n = 1; n <= times; n++) {
    const below = { $ref: `#/$defs/d${n - 1}` }
    $defs[`d${n}`] = { allOf: [below, below] }
  }
  return { $defs, $ref: `#/$defs/d${times}` }
}

const order = jsonSchemaOf(
  z.object({
    name: z.string().min(2),
    lines: z.array(z.object({ price: z.number().min(1), 'a/b c': z.literal('x').optional() })).min(1),
    size: z.enum(['s', 'm']).optional(),
  }),
  'order',
)

describe('formResponseProblem', () => {
  test.each<[string, JsonSchema, unknown]>([
    ['an object', order, { name: 'Ann', lines: [{ price: 1, 'a/b c': 'x' }], size: 's' }],
    ['an absent optional property', order, { name: 'Ann', lines: [{ price: 1 }] }],
    ['a pattern with unnecessary escapes', { pattern: '^\\d{3}\\-[\\-\\d]{4}\\@$' }, '123-45-6@'],
    [
      'patternProperties with unnecessary escapes',
      { patternProperties: { '^a\\-': { type: 'number' } } },
      { 'a-b': 1 },
    ],
    ['any value of a format, which is not checked', { format: 'time' }, '12:00'],
    [
      'properties named format and pattern',
      { properties: { format: { type: 'string' }, pattern: { type: 'string' } } },
      { format: '(' },
    ],
    [
      'a finite value of a recursive schema',
      { properties: { next: { $ref: '#' } }, type: 'object' },
      { next: { next: {} } },
    ],
    [
      'keywords beside a $ref, which draft-07 ignores',
      {
        $schema: 'http://json-schema.org/draft-07/schema#',
        properties: { a: { $ref: '#/definitions/a', minLength: 9 } },
        definitions: { a: { type: 'string' } },
      },
      { a: 'x' },
    ],
  ])('accepts %s', async (_, schema, response) => {
    expect(await formResponseProblem(schema, response)).toBeUndefined()
    await checkFormSchema(schema, 'form')
  })

  test.each<[string, JsonSchema, unknown, string]>([
    ['a missing property', order, { lines: [{ price: 2 }] }, 'Instance does not have required property "name"'],
    ['a wrong type', order, 'x', 'expected object'],
    ['none of several types', { type: ['string', 'null'] }, 1, 'expected string or null'],
    [
      'a nested value',
      order,
      { name: 'Ann', lines: [{ price: 1, 'a/b c': 'y' }] },
      'lines.0.a/b c: Instance does not match "x"',
    ],
    [
      'a number that is too small, without the number',
      order,
      { name: 'Ann', lines: [{ price: 0.25 }] },
      'lines.0.price: is less than 1',
    ],
    [
      'a text that does not match a pattern, without the text',
      { pattern: '^a$' },
      'secret',
      'String does not match pattern',
    ],
    ['an additional property', { additionalProperties: false }, { b: 'secret' }, 'b: no value is allowed here'],
    [
      'no match of anyOf',
      { anyOf: [{ type: 'string' }, { type: 'number' }] },
      true,
      'expected string; expected number',
    ],
    ['two matches of oneOf', { oneOf: [{}, {}] }, 1, 'Instance does not match exactly one subschema (2 matches)'],
    [
      'a keyword beside a $ref',
      { properties: { a: { $ref: '#/$defs/a', minLength: 9 } }, $defs: { a: { type: 'string' } } },
      { a: 'x' },
      'a: String is too short (1 < 9)',
    ],
    ['a pattern with unnecessary escapes', { pattern: '^\\d\\-\\@$' }, '1-', 'String does not match pattern'],
  ])('reports the path and the problem: %s', async (_, schema, response, problem) => {
    expect(await formResponseProblem(schema, response)).toBe(`the response does not match the form: ${problem}`)
  })

  test('bounds the number and the length of problems', async () => {
    const names = Array.from({ length: 50 }, (_, n) => `${'x'.repeat(1000)}${n}`)
    const problem = await formResponseProblem({ required: names, enum: ['y'.repeat(10_000)] }, {})
    expect(problem?.length).toBeLessThan(3000)
  })

  test('checks the other keywords if a pattern is not valid', async () => {
    const schema = { type: 'object', properties: { a: { pattern: '(' }, n: { type: 'number' } }, required: ['n'] }
    await checkFormSchema(schema, 'form')
    expect(await formResponseProblem(schema, { a: 'x', n: 1 })).toBeUndefined()
    expect(await formResponseProblem(schema, { a: 'x', n: 'one' })).toContain('n: expected number')
    // Nothing is refused that the whole schema would take.
    expect(await formResponseProblem({ not: { pattern: '(' } }, 'x')).toBeUndefined()
  })

  test('does not change the schema', async () => {
    const schema = Object.freeze({ properties: Object.freeze({ a: Object.freeze({ $ref: '#' }) }) })
    expect(await formResponseProblem(schema, { a: {} })).toBeUndefined()
    expect(JSON.stringify(schema)).toBe('{"properties":{"a":{"$ref":"#"}}}')
  })
})

describe('a schema that cannot be checked', () => {
  test.each<[string, unknown, string]>([
    ['not an object', true, 'it is not an object'],
    ['too large', { enum: ['x'.repeat(MAX_FORM_LENGTH)] }, 'characters of JSON, found'],
    ['nested too deep', nested(MAX_FORM_DEPTH + 1), 'it is nested too deep'],
    ['a reference to itself', { allOf: [{ $ref: '#' }] }, 'it refers to itself'],
    ['exponentially repeated references', doubled(40), 'it cannot be checked'],
    ['a reference to a URL', { $ref: 'https://user:secret@example.com/schema' }, 'it has a reference without a target'],
    ['required that is not an array', { required: 7 }, 'it has a reference without a target, or is not a JSON Schema'],
    [
      'an invalid $id',
      { $id: 'http://[', type: 'object' },
      'it has a reference without a target, or is not a JSON Schema',
    ],
  ])('is rejected by checkFormSchema and rejects every response: %s', async (_, schema, why) => {
    await expect(checkFormSchema(schema, 'form')).rejects.toThrow(why)
    const problem = await formResponseProblem(schema, {})
    expect(problem).toContain(why)
    expect(problem).not.toContain('secret')
  })

  test('aborts a pattern with catastrophic backtracking', async () => {
    expect(await formResponseProblem({ pattern: EVIL }, BAIT)).toContain('it cannot be checked within')
    expect(await formResponseProblem({ pattern: EVIL }, 'aaa')).toBeUndefined()
  })
})
