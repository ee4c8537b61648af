// Schemas for JSON that keep values as they are: zod's own object schemas copy them and drop keys called `__proto__`.

import type { Json, JsonObject } from '@millrace/protocol'
import { isObject } from '@millrace/protocol/internal'
import * as z from 'zod'

/** Any JSON value except undefined. */
export const anyJson = z.custom<Json>(value => value !== undefined, 'expected JSON').meta({ description: 'Any JSON' })

/** Any JSON object. */
export const anyObject = z.custom<JsonObject>(isObject, 'expected an object').meta({ type: 'object' })

/** The JSON Schema of a request (`input`) or a reply (`output`). */
export function jsonSchemaOf(schema: z.ZodType, io: 'input' | 'output'): { readonly description?: string } {
  const { $schema, ...rest } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    // Replies may gain fields later, so clients must accept unknown ones.
    override: ({ jsonSchema }) => {
      if (io === 'output') delete jsonSchema.additionalProperties
    },
  })
  return rest
}
