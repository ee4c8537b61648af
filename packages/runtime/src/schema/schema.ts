// Schemas are Standard Schemas: zod, valibot, arktype and whatever else speaks it. Their JSON Schema, which models are told, comes from the same object
// where it can give one.

import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'
import { ValidationError } from '../error/error.ts'

export type Schema<Input = unknown, Output = Input> = StandardSchemaV1<Input, Output>
export type InputOf<S extends Schema> = StandardSchemaV1.InferInput<S>
export type OutputOf<S extends Schema> = StandardSchemaV1.InferOutput<S>

/** A JSON Schema, as plain JSON. */
export type JsonSchema = { readonly [key: string]: unknown }

export type Validated<T> = { readonly value: T } | { readonly problem: string }

/** The value as a schema has it, or what is wrong with it, place by place. */
export async function validate<S extends Schema>(schema: S, value: unknown): Promise<Validated<OutputOf<S>>> {
  const result = await schema['~standard'].validate(value)
  if (!result.issues) return { value: result.value as OutputOf<S> }
  const problems = result.issues.map(({ message, path }) => {
    const place = path?.map(segment => String(typeof segment === 'object' ? segment.key : segment)).join('.')
    return place ? `${place}: ${message}` : message
  })
  return { problem: problems.slice(0, 10).join('; ') }
}

/** The JSON Schema of what a schema takes; `given` where it cannot tell by itself. */
export function jsonSchemaOf(schema: Schema, what: string, given?: JsonSchema): JsonSchema {
  if (given !== undefined) return given
  const props = schema['~standard'] as StandardSchemaV1.Props & Partial<StandardJSONSchemaV1.Props>
  if (props.jsonSchema === undefined) {
    throw new ValidationError(
      `${what}: the schema (of ${props.vendor}) cannot say its JSON Schema, which models need: give it beside, as jsonSchema`,
    )
  }
  const { $schema, ...rest } = props.jsonSchema.input({ target: 'draft-07' })
  return rest
}
