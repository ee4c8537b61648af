// What the routes take and give, once: bodies are checked by these, and the OpenAPI document is made of them.

import type { Content, Json, JsonObject } from '@millrace/protocol'
import * as z from 'zod'

/** JSON that stays as it is: zod's own objects are copies, without any key called `__proto__`. */
const json = z.custom<Json>(value => value !== undefined, 'expected JSON').meta({ description: 'Any JSON' })
const object = z
  .custom<JsonObject>(
    value => typeof value === 'object' && value !== null && !Array.isArray(value),
    'expected an object',
  )
  .meta({ type: 'object' })

const name = z.string().min(1).max(256)
const text = z.string().max(8192)

/** What a person says. */
export const Input = z.union([
  z.string(),
  z.strictObject({
    parts: z
      .array(z.custom<Content>(isObject, 'expected a part').meta({ type: 'object' }))
      .min(1)
      .max(256),
    metadata: object.optional(),
  }),
])

const asking = {
  runId: name.optional(),
  whenBusy: z.enum(['reject', 'queue', 'interrupt-previous']).optional(),
  data: json.optional(),
}

export const RunBody = z
  .strictObject({
    agent: name.optional(),
    workflow: name.optional(),
    input: Input.optional(),
    messageId: name.optional(),
    onDisconnect: z.enum(['continue', 'stop']).optional(),
    ...asking,
  })
  .refine(
    ({ agent, workflow }) => (agent === undefined) !== (workflow === undefined),
    'expected an agent or a workflow',
  )

export const AnswerBody = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('approval'),
    id: name.max(512),
    approved: z.boolean(),
    reason: text.optional(),
    input: json.optional(),
  }),
  z.strictObject({
    kind: z.literal('tool-result'),
    id: name.max(512),
    output: json.optional(),
    error: text.optional(),
    code: name.optional(),
  }),
  z.strictObject({ kind: z.literal('interrupt'), id: name.max(512), value: json }),
  z.strictObject({
    kind: z.literal('claim'),
    id: name.max(512),
    client: name.optional(),
    forMs: z.int().min(1).optional(),
  }),
])

export const StopBody = z.strictObject({
  runId: name.optional(),
  mode: z.enum(['interrupt', 'abort']).optional(),
  reason: text.optional(),
})

const resuming = { resumes: name.optional(), runId: asking.runId, whenBusy: asking.whenBusy }

export const ResumeBody = z.discriminatedUnion('mode', [
  z.strictObject({ mode: z.literal('continue'), ...resuming }),
  z.strictObject({ mode: z.literal('with-message'), message: Input, messageId: name.optional(), ...resuming }),
  z.strictObject({ mode: z.literal('with-confirmation'), approved: z.boolean(), reason: text.optional(), ...resuming }),
  z.strictObject({ mode: z.literal('from-checkpoint'), checkpointId: name, ...resuming }),
])

export const RetryBody = z.strictObject({ of: name.optional(), runId: asking.runId, whenBusy: asking.whenBusy })

export const EditBody = z.strictObject({ messageId: name, input: Input, newMessageId: name.optional(), ...asking })

export const ForkBody = z.strictObject({ at: z.int().min(0).optional() })

export const InfoBody = z.strictObject({ title: z.string().max(200).optional(), metadata: object.optional() })

export const ErrorSchema = z.object({
  error: z.object({ code: z.string(), message: z.string(), retryable: z.boolean() }),
})

export const Asked = z.object({ sessionId: z.string(), runId: z.string(), sequence: z.int().optional() })
export const Answered = z.union([z.object({ sequence: z.int() }), z.object({ until: z.number() })])
export const Stopped = z.object({ runId: z.string().optional(), stopped: z.boolean() })
export const SessionMade = z.object({ sessionId: z.string() })

const status = z.enum(['active', 'paused', 'ended', 'failed'])

export const SessionLine = z.object({
  sessionId: z.string(),
  title: z.string().optional(),
  line: z.string().optional(),
  status,
  created: z.number(),
  updated: z.number(),
  sequence: z.int(),
})
export const SessionList = z.object({ sessions: z.array(SessionLine), next: z.string().nullable() })
export const SessionView = z.object({
  sequence: z.int(),
  cursor: z.string(),
  title: z.string().optional(),
  metadata: object.optional(),
  page: z.object({ total: z.int(), hasMore: z.boolean() }).optional(),
  view: object,
})
export const Programs = z.object({
  agents: z.array(z.object({ name: z.string(), version: z.string() })),
  workflows: z.array(z.object({ id: z.string(), version: z.string(), diagram: z.string() })),
})
export const Health = z.object({ status: z.enum(['ok', 'draining']), protocol: z.int() })

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
