// What the routes take and give, once: bodies and queries are checked by these, and the OpenAPI document is made of them.

import type { Content, Json, JsonObject } from '@millrace/protocol'
import * as z from 'zod'
import { A_NAME, isName, LONGEST_NAME } from './name.ts'

/** JSON that stays as it is: zod's own objects are copies, without any key called `__proto__`. */
const json = z.custom<Json>(value => value !== undefined, 'expected JSON').meta({ description: 'Any JSON' })
const object = z.custom<JsonObject>(isObject, 'expected an object').meta({ type: 'object' })

const called = (longest: number) =>
  z
    .string()
    .refine(text => isName(text, longest), `expected ${A_NAME.replace(`${LONGEST_NAME}`, `${longest}`)}`)
    .meta({ minLength: 1, maxLength: longest })
const name = called(LONGEST_NAME)
/** What waits is called by its run and its call. */
const pendingId = called(2 * LONGEST_NAME)
const text = z.string().max(8192)

/** What a person says. */
const Input = z.union([
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
}

export const RunBody = z
  .strictObject({
    agent: name.optional(),
    workflow: name.optional(),
    input: Input.optional(),
    messageId: name.optional(),
    data: json.optional(),
    onDisconnect: z.enum(['continue', 'stop']).optional(),
    ...asking,
  })
  .refine(({ agent, workflow }) => (agent === undefined) !== (workflow === undefined), {
    error: 'expected an agent or a workflow',
  })
  .refine(({ messageId, input }) => messageId === undefined || input !== undefined, {
    path: ['messageId'],
    error: 'expected an input with it',
  })

export const AnswerBody = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('approval'),
    id: pendingId,
    approved: z.boolean(),
    reason: text.optional(),
    input: json.optional(),
  }),
  z
    .strictObject({
      kind: z.literal('tool-result'),
      id: pendingId,
      output: json.optional(),
      error: text.optional(),
      code: name.optional(),
    })
    .refine(({ output, error }) => (output === undefined) !== (error === undefined), 'expected an output or an error')
    .refine(({ code, error }) => code === undefined || error !== undefined, {
      path: ['code'],
      error: 'expected an error with it',
    }),
  z.strictObject({ kind: z.literal('interrupt'), id: pendingId, value: json }),
  z.strictObject({
    kind: z.literal('claim'),
    id: pendingId,
    client: name.optional(),
    forMs: z.int().min(1).optional(),
  }),
])

export const StopBody = z.strictObject({
  runId: name.optional(),
  mode: z.enum(['interrupt', 'abort']).optional(),
  reason: text.optional(),
})

const resuming = { resumes: name.optional(), ...asking }

export const ResumeBody = z.discriminatedUnion('mode', [
  z.strictObject({ mode: z.literal('continue'), ...resuming }),
  z.strictObject({ mode: z.literal('with-message'), message: Input, messageId: name.optional(), ...resuming }),
  z.strictObject({ mode: z.literal('with-confirmation'), approved: z.boolean(), reason: text.optional(), ...resuming }),
  z.strictObject({ mode: z.literal('from-checkpoint'), checkpointId: name, ...resuming }),
])

export const RetryBody = z.strictObject({ of: name.optional(), ...asking })

export const EditBody = z.strictObject({
  messageId: name,
  input: Input,
  newMessageId: name.optional(),
  data: json.optional(),
  ...asking,
})

export const ForkBody = z.strictObject({ at: z.int().min(0).optional() })

const about = { title: z.string().optional(), metadata: object.optional() }

export const NewSessionBody = z.strictObject(about)
export const InfoBody = z
  .strictObject(about)
  .refine(({ title, metadata }) => title !== undefined || metadata !== undefined, 'expected a title or metadata')

/** A whole number in a query. */
export const count = (description: string, least: number, most: number) =>
  z
    .string()
    .refine(
      digits => /^\d{1,6}$/.test(digits) && Number(digits) >= least && Number(digits) <= most,
      `expected a whole number from ${least} to ${most}`,
    )
    .optional()
    .meta({ description, type: 'integer', minimum: least, maximum: most })

/** One of some words in a query. */
export const oneOf = <const W extends readonly string[]>(description: string, words: W) =>
  z.enum(words).optional().meta({ description })

/** Any text in a query; what it means is told by who looks. */
export const anyText = (description: string) => z.string().optional().meta({ description })

/** Any texts in a query. */
export const anyTexts = (description: string) => z.array(z.string()).meta({ description })

/** A name in a query. */
export const someName = (description: string) => name.optional().meta({ description })

/** Names in a query. */
export const names = (description: string) => z.array(name).meta({ description })

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
export const Uploaded = z.object({
  hash: z.string(),
  url: z.string(),
  bytes: z.int(),
  mediaType: z.string(),
  filename: z.string().optional(),
})
export const Programs = z.object({
  agents: z.array(z.object({ name: z.string(), version: z.string() })),
  workflows: z.array(z.object({ id: z.string(), version: z.string(), diagram: z.string() })),
})
export const Health = z.object({ status: z.enum(['ok', 'draining']), protocol: z.int() })

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
