// Schemas are Standard Schemas: zod, valibot, arktype and whatever else speaks it. Their JSON Schema, which models are told, comes from the same object
// where it can give one.

import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'
import { describeType } from '../error/check-object.ts'
import { ValidationError } from '../error/error.ts'

export type Schema<Input = unknown, Output = Input> = StandardSchemaV1<Input, Output>
export type InputOf<S extends Schema> = StandardSchemaV1.InferInput<S>
export type OutputOf<S extends Schema> = StandardSchemaV1.InferOutput<S>

/** A JSON Schema, as plain JSON. */
export type JsonSchema = { readonly [key: string]: unknown }

/** A value that fits; or what is wrong with it, and what a schema threw that could not tell. */
export type Validation<T> = { readonly value: T } | ValidationProblem

interface ValidationProblem {
  readonly problem: string
  readonly cause?: unknown
}

/** As many problems are told; a model that has mended these is told the rest. */
const MAX_REPORTED_PROBLEMS = 10

/** The value as a schema has it, or what is wrong with it, place by place; never throws. */
export async function validate<S extends Schema>(schema: S, value: unknown): Promise<Validation<OutputOf<S>>> {
  try {
    return validationOf<S>(await schema['~standard'].validate(value))
  } catch (cause) {
    return { problem: 'it could not be checked', cause }
  }
}

/** As `validate`, for who cannot wait: nothing where the schema has to. */
export function validateSync<S extends Schema>(schema: S, value: unknown): Validation<OutputOf<S>> | undefined {
  const result = schema['~standard'].validate(value)
  if (!('then' in result)) return validationOf<S>(result)
  result.then(undefined, () => {})
  return undefined
}

function validationOf<S extends Schema>(result: StandardSchemaV1.Result<unknown>): Validation<OutputOf<S>> {
  if (!result.issues) return { value: result.value as OutputOf<S> }
  const problems = result.issues.map(({ message, path }) => {
    const place = path?.map(segment => String(typeof segment === 'object' ? segment.key : segment)).join('.')
    return place ? `${place}: ${message}` : message
  })
  return { problem: problems.slice(0, MAX_REPORTED_PROBLEMS).join('; ') }
}

/** Throws where something is no schema. */
export function checkSchema(schema: unknown, what: string): asserts schema is Schema {
  const { '~standard': standard } = Object(schema) as { '~standard'?: { validate?: unknown } }
  if (typeof standard?.validate === 'function') return
  throw new ValidationError(`${what}: expected a Standard Schema, such as one of zod, valibot or arktype`)
}

/** The JSON Schema of what a schema takes; `given` where it cannot tell by itself. */
export function jsonSchemaOf(schema: Schema, what: string, given?: JsonSchema): JsonSchema {
  checkSchema(schema, what)
  if (given !== undefined) {
    if (typeof given === 'object' && given !== null && !Array.isArray(given)) return given
    throw new ValidationError(`${what}: jsonSchema: expected an object, found ${describeType(given)}`)
  }
  const { jsonSchema, vendor } = schema['~standard'] as StandardSchemaV1.Props & Partial<StandardJSONSchemaV1.Props>
  if (jsonSchema === undefined) {
    throw new ValidationError(
      `${what}: a schema of ${vendor} cannot say its JSON Schema, which models need: give it beside, as jsonSchema`,
    )
  }
  try {
    const { $schema, ...rest } = jsonSchema.input({ target: 'draft-07' })
    return rest
  } catch (cause) {
    throw new ValidationError(
      `${what}: the schema has no JSON Schema, which models need (${(cause as Error).message}): give it beside, as jsonSchema`,
      { cause },
    )
  }
}
