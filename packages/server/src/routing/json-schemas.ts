// JSON in schemas: it stays as it is, where zod's own objects are copies, without any key called `__proto__`.

import type { Json, JsonObject } from '@millrace/protocol'
import { isObject } from '@millrace/protocol/internal'
import * as z from 'zod'

/** Anything that is there. */
export const anyJson = z.custom<Json>(value => value !== undefined, 'expected JSON').meta({ description: 'Any JSON' })

/** Any object. */
export const anyObject = z.custom<JsonObject>(isObject, 'expected an object').meta({ type: 'object' })

/** What a schema says, for programs: of what is sent, or of what is given. */
export function jsonSchemaOf(schema: z.ZodType, io: 'input' | 'output'): { readonly description?: string } {
  const { $schema, ...rest } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    // Replies may come to say more: who reads them takes no offence.
    override: ({ jsonSchema }) => {
      if (io === 'output') delete jsonSchema.additionalProperties
    },
  })
  return rest
}
