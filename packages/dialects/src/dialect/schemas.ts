// Schemas that several dialects share.

import type { Json, JsonObject } from '@millrace/protocol'
import { isObject } from '@millrace/protocol/internal'
import * as z from 'zod'
import type { ClientAnswer } from './client-request.ts'

/** Any JSON value. It is not copied. */
export const anyJson = z.custom<Json>(value => value !== undefined, 'expected JSON').meta({ description: 'Any JSON' })

/** Any object. It is not copied. */
export const anyObject = z.custom<JsonObject>(isObject, 'expected an object').meta({ type: 'object' })

/** Answers that a client sends beside its transcript, if the transcript has no field for them, or has results as text. */
export const AnswersSchema = z.array(
  z.discriminatedUnion('kind', [
    z.strictObject({
      kind: z.literal('approval'),
      id: z.string(),
      approved: z.boolean(),
      reason: z.string().optional(),
    }),
    z
      .strictObject({
        kind: z.literal('tool-result'),
        id: z.string(),
        output: anyJson.optional(),
        error: z.string().optional(),
      })
      .refine(
        ({ output, error }) => (output === undefined) !== (error === undefined),
        'expected either output or error',
      )
      .meta({ oneOf: [{ required: ['output'] }, { required: ['error'] }] }),
    z.strictObject({ kind: z.literal('interrupt'), id: z.string(), response: anyJson }),
  ]),
) as unknown as z.ZodType<ClientAnswer[]> // A refinement does not narrow the type.
