import { type } from 'arktype'
import * as v from 'valibot'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { jsonSchemaOf, type Schema, validate, validateSync } from './schema.ts'

const schemas: readonly [string, Schema][] = [
  ['zod', z.object({ city: z.string(), days: z.array(z.object({ n: z.number() })) })],
  ['valibot', v.object({ city: v.string(), days: v.array(v.object({ n: v.number() })) })],
  ['arktype', type({ city: 'string', days: type({ n: 'number' }).array() })],
]

test.each(schemas)('%s: returns a valid value, and the paths of the problems of an invalid one', async (_, schema) => {
  const good = { city: 'Ulm', days: [{ n: 1 }] }
  expect(await validate(schema, good)).toEqual({ value: good })
  expect(validateSync(schema, good)).toEqual({ value: good })
  const bad = await validate(schema, { city: 'Ulm', days: [{ n: 1 }, { n: 'two' }] })
  expect(bad).toEqual({ problem: expect.stringMatching(/^days\.1\.n: /) })
})

test.each(schemas.filter(([name]) => name !== 'valibot'))('%s: converts a schema to JSON Schema', (_, schema) => {
  expect(jsonSchemaOf(schema, 'here')).toMatchObject({
    type: 'object',
    properties: {
      city: { type: 'string' },
      days: { type: 'array', items: { type: 'object', properties: { n: { type: 'number' } } } },
    },
  })
})

test('jsonSchemaOf describes the input of a schema with a transform', () => {
  const schema = z.object({ n: z.string().transform(Number), often: z.number().default(1) })
  expect(jsonSchemaOf(schema, 'here')).toEqual({
    type: 'object',
    properties: { n: { type: 'string' }, often: { type: 'number', default: 1 } },
    required: ['n'],
  })
})

test('validate reports a schema that throws, without its message, and keeps the cause', async () => {
  const cause = new Error('password=hunter2')
  const schema = z.string().refine(() => {
    throw cause
  })
  expect(await validate(schema, 'x')).toEqual({ problem: 'the schema threw an error', cause })
})

test('validate awaits an asynchronous schema, and validateSync returns undefined for it', async () => {
  const schema = z.string().refine(async text => text === 'yes')
  expect(await validate(schema, 'yes')).toEqual({ value: 'yes' })
  expect(await validate(schema, 'no')).toHaveProperty('problem')
  expect(validateSync(schema, 'no')).toBeUndefined()
})

test('validate reports the first ten problems', async () => {
  const checked = await validate(z.array(z.number()), Array.from({ length: 50 }, String))
  expect('problem' in checked && checked.problem.split('; ')).toHaveLength(10)
})
