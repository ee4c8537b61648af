// Schemas are Standard Schemas, such as those of zod, valibot and arktype. Their JSON Schema, which goes to the model, comes
// from the same object if the library supports it.

import { isObject } from '@millrace/protocol/internal'
import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'
import { describeType } from '../error/check-object.ts'
import { ValidationError } from '../error/error.ts'

/** A Standard Schema, such as those of zod, valibot and arktype. */
export type Schema<Input = unknown, Output = Input> = StandardSchemaV1<Input, Output>
/** The input type of a schema, before any transform. */
export type InputOf<S extends Schema> = StandardSchemaV1.InferInput<S>
/** The output type of a schema, after any transform. */
export type OutputOf<S extends Schema> = StandardSchemaV1.InferOutput<S>

/** A JSON Schema, as plain JSON. */
export type JsonSchema = { readonly [key: string]: unknown }

/** The validated value; or its problem, and the error that the schema threw, if any. */
export type Validation<T> = { readonly value: T } | ValidationProblem

interface ValidationProblem {
  readonly problem: string
  readonly cause?: unknown
}

/** Maximum number of problems in a message. A model that fixes these gets the others next time. */
const MAX_REPORTED_PROBLEMS = 10

/** Validates a value. Returns the value that the schema made of it, or its problems with their paths. Never throws. */
export async function validate<S extends Schema>(schema: S, value: unknown): Promise<Validation<OutputOf<S>>> {
  try {
    return validationOf<S>(await schema['~standard'].validate(value))
  } catch (cause) {
    return { problem: 'the schema threw an error', cause }
  }
}

/** As `validate`, synchronously. Returns undefined if the schema validates asynchronously. @throws what the schema throws. */
export function validateSync<S extends Schema>(schema: S, value: unknown): Validation<OutputOf<S>> | undefined {
  const result = schema['~standard'].validate(value)
  if (!('then' in result)) return validationOf<S>(result)
  result.then(undefined, () => {})
  return undefined
}

function validationOf<S extends Schema>(result: StandardSchemaV1.Result<unknown>): Validation<OutputOf<S>> {
  if (!result.issues) return { value: result.value as OutputOf<S> }
  const problems = result.issues.map(({ message, path }) => {
    const location = path?.map(segment => String(typeof segment === 'object' ? segment.key : segment)).join('.')
    return location ? `${location}: ${message}` : message
  })
  return { problem: problems.slice(0, MAX_REPORTED_PROBLEMS).join('; ') }
}

/** @throws {ValidationError} if `schema` is not a Standard Schema. */
export function checkSchema(schema: unknown, label: string): asserts schema is Schema {
  const { '~standard': standard } = Object(schema) as { '~standard'?: { validate?: unknown } }
  if (typeof standard?.validate === 'function') return
  throw new ValidationError(`${label}: expected a Standard Schema, such as one of zod, valibot or arktype`)
}

/** The JSON Schema of the input of a schema, or `override`. @throws {ValidationError} if the schema has none. */
export function jsonSchemaOf(schema: Schema, label: string, override?: JsonSchema): JsonSchema {
  checkSchema(schema, label)
  if (override !== undefined) {
    if (isObject(override)) return override
    throw new ValidationError(`${label}: jsonSchema: expected an object, found ${describeType(override)}`)
  }
  const { jsonSchema, vendor } = schema['~standard'] as StandardSchemaV1.Props & Partial<StandardJSONSchemaV1.Props>
  if (jsonSchema === undefined) {
    throw new ValidationError(
      `${label}: the schema of ${vendor} has no JSON Schema, which models need: pass it as jsonSchema`,
    )
  }
  try {
    const { $schema, ...rest } = jsonSchema.input({ target: 'draft-07' })
    return rest
  } catch (cause) {
    throw new ValidationError(
      `${label}: cannot convert the schema to the JSON Schema that models need (${(cause as Error).message}): pass it as jsonSchema`,
      { cause },
    )
  }
}
