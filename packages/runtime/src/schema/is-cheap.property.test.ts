// Property: a check in this thread and in the worker have the same outcome, for any schema and value. Checks that could take
// long are never cheap.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { multiplied } from '../../../../scripts/faults/campaign.ts'
import { sharedFormChecks } from './form-checks.fixture.ts'
import { isCheap } from './is-cheap.ts'
import { performCheck, type SchemaCheck } from './perform-check.ts'
import type { JsonSchema } from './schema.ts'
import { SchemaWorker } from './schema-worker.ts'

const names = fc.constantFrom('a', 'b', 'c/d', '__proto__', 'id', 'pattern')
const numbers = fc.integer({ min: -2, max: 4 })
const values = fc.jsonValue({ maxDepth: 3 })
const types = fc.constantFrom('string', 'number', 'integer', 'object', 'array', 'null', 'boolean', 'unknown')

/** Keywords whose checks are never cheap. */
const expensive = {
  pattern: fc.constantFrom('^a', '(', 'b+$'),
  uniqueItems: fc.boolean(),
  $ref: fc.constantFrom('#', '#/properties/a', '#/nowhere'),
  $id: fc.constantFrom('https://example.com/a', 'b', 'http://['),
  'x-unknown': values,
}

const schemasWith = (keywords: Partial<typeof expensive>) =>
  fc.letrec<{ schema: JsonSchema | boolean; object: JsonSchema }>(tie => ({
    schema: fc.oneof({ maxDepth: 2 }, fc.boolean(), tie('object')),
    object: fc.record(
      {
        type: fc.oneof(types, fc.array(types, { maxLength: 2 })),
        properties: fc.dictionary(names, tie('schema'), { maxKeys: 3 }),
        additionalProperties: tie('schema'),
        required: fc.array(names, { maxLength: 2 }),
        items: tie('schema'),
        prefixItems: fc.array(tie('schema'), { maxLength: 2 }),
        anyOf: fc.array(tie('schema'), { maxLength: 2 }),
        oneOf: fc.array(tie('schema'), { maxLength: 2 }),
        not: tie('schema'),
        if: tie('schema'),
        // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
        then: tie('schema'),
        contains: tie('schema'),
        unevaluatedProperties: tie('schema'),
        dependentRequired: fc.dictionary(names, fc.array(names, { maxLength: 2 }), { maxKeys: 2 }),
        minLength: numbers,
        maxItems: numbers,
        minimum: numbers,
        multipleOf: numbers,
        const: values,
        enum: fc.array(values, { maxLength: 3 }),
        format: fc.constantFrom('email', 'date'),
        description: fc.string(),
        ...keywords,
      },
      { requiredKeys: [] },
    ) as never,
  }))
const checksWith = (keywords: Partial<typeof expensive>): fc.Arbitrary<SchemaCheck> =>
  fc.record({ schema: schemasWith(keywords).object, value: values }, { requiredKeys: ['schema'] })

// Its worker starts before the test.
sharedFormChecks()

test.each([
  ['only cheap', {}, 30],
  ['all', expensive, 0],
])('the worker and this thread have the same outcome for schemas with %s keywords', async (_, keywords, minCheap) => {
  const worker = new SchemaWorker()
  const hooks = { beforeStart: () => {}, afterEnd: () => {} }
  const inWorker = (check: SchemaCheck) => worker.run({ check, timeoutMs: 5000, caller: '', maxWaiting: 1, ...hooks })
  let cheap = 0
  try {
    await fc.assert(
      fc.asyncProperty(checksWith(keywords), async check => {
        if (isCheap(check)) cheap++
        expect(await inWorker(check)).toEqual(performCheck(check))
      }),
      { numRuns: multiplied(100) },
    )
  } finally {
    await worker.close()
  }
  expect(cheap).toBeGreaterThanOrEqual(minCheap)
})

const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)])

test.each<[string, SchemaCheck]>([
  ['a regular expression', { schema: { properties: { a: { pattern: 'a' } } }, value: {} }],
  ['regular expressions for names', { schema: { patternProperties: { a: {} } }, value: {} }],
  ['a reference', { schema: { anyOf: [{ $ref: '#' }] }, value: {} }],
  ['a dynamic reference', { schema: { $dynamicRef: '#a' }, value: {} }],
  ['a comparison of each pair', { schema: { items: { uniqueItems: true } }, value: [] }],
  ['an unknown keyword', { schema: { 'x-a': {} }, value: {} }],
  ['a keyword whose value has the wrong type', { schema: { anyOf: { pattern: 'a' } }, value: {} }],
  ['a subschema that is not a schema', { schema: { items: 'a' }, value: [] }],
  ['a long list', { schema: { items: { type: 'number' } }, value: Array(20_000).fill(1) }],
  ['a long text', { schema: { minLength: 1 }, value: 'x'.repeat(1_000_000) }],
  [
    'many alternatives for many values',
    { schema: { items: { anyOf: Array(300).fill({}) } }, value: Array(100).fill(1) },
  ],
  ['a long list of values', { schema: { items: { enum: Array(1000).fill('a') } }, value: Array(100).fill('b') }],
  ['long names', { schema: { properties: { ['x'.repeat(60_000)]: {} } }, value: { a: 'x'.repeat(10_000) } }],
  ['a deep value', { schema: {}, value: nested(3000) }],
])('is not cheap: %s', (_, check) => {
  const others = { schema: { allOf: Array(8).fill(check.schema) } }
  expect(isCheap({ ...check, ...others })).toBe(false)
})

test.each<[string, SchemaCheck]>([
  [
    'a form',
    {
      schema: { type: 'object', properties: { a: { type: 'string', minLength: 1 } }, required: ['a'] },
      value: { a: 'b' },
    },
  ],
  [
    'a form with hints',
    { schema: { properties: { a: { format: 'email', description: 'Your address', default: '' } } }, value: {} },
  ],
  ['whether a form is usable', { schema: { oneOf: [{ type: 'null' }, { const: 1 }] } }],
])('is cheap: %s', (_, check) => {
  expect(isCheap(check)).toBe(true)
})
