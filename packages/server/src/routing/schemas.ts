// Schemas of the routes' bodies, queries and replies. They validate requests and generate the OpenAPI document.

import {
  MAX_CLAIM_MS,
  MAX_METADATA_BYTES,
  MAX_METADATA_DEPTH,
  MAX_TITLE,
  metadataProblem,
} from '@millrace/log/internal'
import { isObject } from '@millrace/protocol/internal'
import type { UserPart } from '@millrace/runtime'
import * as z from 'zod'
import { anyJson, anyObject, jsonSchemaOf } from './json-schemas.ts'
import { isName, MAX_NAME_LENGTH, NAME_RULE } from './names.ts'

/** Forbids control characters, in JSON Schema. */
const PLAIN = { pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]*$' }

const nameOfLength = (longest: number) =>
  z
    .string()
    .refine(text => isName(text, longest), `expected ${NAME_RULE.replace(`${MAX_NAME_LENGTH}`, `${longest}`)}`)
    .meta({ minLength: 1, maxLength: longest, ...PLAIN })
const name = nameOfLength(MAX_NAME_LENGTH)
/** Id of a pending: it may combine the ids of a run and a tool call. */
const pendingId = nameOfLength(2 * MAX_NAME_LENGTH)
/** Id of a new user message. */
const newMessageId = name
  .refine(id => !id.includes('::'), 'expected a name without `::`, which marks the messages of agents')
  .meta({ not: { pattern: '::' } })
const text = z.string().max(8192)
/** Error codes of tools. */
const CODE = /^[a-z0-9_]{1,64}$/
const code = z
  .string()
  .refine(text => CODE.test(text), 'expected 1 to 64 lowercase letters, digits and _')
  .meta({ pattern: CODE.source })

const partUrl = { url: z.string() }
const partTitle = { title: z.string().optional() }
const partFilename = { filename: z.string().optional() }

const dataPart = z.looseObject({ type: z.string().regex(/^data-/), data: anyJson })
const partSchemas: ReadonlyMap<unknown, z.ZodType> = new Map(
  Object.entries({
    text: { text: z.string() },
    file: { ...partUrl, mediaType: z.string(), ...partFilename },
    'source-url': { sourceId: z.string(), ...partUrl, ...partTitle },
    'source-document': {
      sourceId: z.string(),
      ...partTitle,
      mediaType: z.string().optional(),
      ...partFilename,
      text: z.string().optional(),
    },
  } satisfies Record<Exclude<UserPart['type'], `data-${string}`>, z.ZodRawShape>).map(([type, fields]) => [
    type,
    z.looseObject({ type: z.literal(type), ...fields }),
  ]),
)

const PART_TYPES = `expected ${[...partSchemas.keys()].join(', ')} or data-*`

const partSchemaOf = ({ type }: { readonly type?: unknown }): z.ZodType | undefined =>
  partSchemas.get(type) ?? (typeof type === 'string' && type.startsWith('data-') ? dataPart : undefined)

/** A part of a user message, validated by its `type` and passed on unchanged. */
const part = z
  .custom<UserPart>()
  .check(({ value, issues }) => {
    const addIssue = (message: string, path: string[] = []) =>
      issues.push({ code: 'custom', input: value, path, message })
    if (!isObject(value)) return void addIssue('expected an object with a type')
    const kind = partSchemaOf(value)
    if (kind === undefined) return void addIssue(PART_TYPES, ['type'])
    for (const issue of kind.safeParse(value).error?.issues ?? []) issues.push({ ...issue, input: value } as never)
  })
  .meta({ oneOf: [...partSchemas.values(), dataPart].map(kind => jsonSchemaOf(kind, 'input')) })

/** A user message: text or parts. */
const Input = z.union([
  z.string(),
  z.strictObject({ parts: z.array(part).min(1).max(256), metadata: anyObject.optional() }),
])

const runOptions = {
  runId: name.optional(),
  whenBusy: z.enum(['reject', 'queue', 'interrupt-previous']).optional(),
}

export const RunBody = z
  .strictObject({
    agent: name.optional(),
    workflow: name.optional(),
    input: Input.optional(),
    messageId: newMessageId.optional(),
    data: anyJson.optional(),
    onDisconnect: z.enum(['continue', 'stop']).optional(),
    ...runOptions,
  })
  .refine(({ agent, workflow }) => (agent === undefined) !== (workflow === undefined), {
    error: 'expected either agent or workflow',
  })
  .refine(({ messageId, input }) => messageId === undefined || input !== undefined, {
    path: ['messageId'],
    error: 'expected only together with input',
  })
  .meta({ ...exactlyOneOf('agent', 'workflow'), dependentRequired: { messageId: ['input'] } })

export const AnswerBody = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('approval'),
    id: pendingId,
    approved: z.boolean(),
    reason: text.optional(),
    input: anyJson.optional(),
  }),
  z
    .strictObject({
      kind: z.literal('tool-result'),
      id: pendingId,
      output: anyJson.optional(),
      error: text.optional(),
      code: code.optional(),
    })
    .refine(({ output, error }) => (output === undefined) !== (error === undefined), 'expected either output or error')
    .refine(({ code, error }) => code === undefined || error !== undefined, {
      path: ['code'],
      error: 'expected error too',
    })
    .meta({ ...exactlyOneOf('output', 'error'), dependentRequired: { code: ['error'] } }),
  z.strictObject({ kind: z.literal('interrupt'), id: pendingId, response: anyJson }),
  z.strictObject({
    kind: z.literal('claim'),
    id: pendingId,
    client: name.optional(),
    forMs: z.int().min(1).max(MAX_CLAIM_MS).optional(),
  }),
])

export const StopBody = z.strictObject({
  runId: name.optional(),
  mode: z.enum(['interrupt', 'abort']).optional(),
  reason: text.optional(),
})

const resumeOptions = { resumes: name.optional(), ...runOptions }

export const ResumeBody = z.discriminatedUnion('mode', [
  z.strictObject({ mode: z.literal('continue'), ...resumeOptions }),
  z.strictObject({
    mode: z.literal('with-message'),
    message: Input,
    messageId: newMessageId.optional(),
    ...resumeOptions,
  }),
  z.strictObject({
    mode: z.literal('with-confirmation'),
    approved: z.boolean(),
    reason: text.optional(),
    ...resumeOptions,
  }),
  z.strictObject({ mode: z.literal('from-checkpoint'), checkpointId: name, ...resumeOptions }),
])

export const RetryBody = z.strictObject({ of: name.optional(), ...runOptions })

export const EditBody = z.strictObject({
  messageId: name,
  input: Input,
  newMessageId: newMessageId.optional(),
  data: anyJson.optional(),
  ...runOptions,
})

export const ForkBody = z.strictObject({ at: z.int().min(0).optional() })

const title = z
  .string()
  .refine(
    text => text === '' || isName(text, MAX_TITLE),
    `expected at most ${MAX_TITLE} characters, without control characters`,
  )
  .meta({ maxLength: MAX_TITLE, ...PLAIN })

const metadata = anyObject
  .check(({ value, issues }) => {
    const message = metadataProblem(value)
    if (message !== undefined) issues.push({ code: 'custom', input: value, message })
  })
  .meta({ description: `At most ${MAX_METADATA_BYTES} bytes of JSON, ${MAX_METADATA_DEPTH} levels deep` })

const sessionInfo = { title: title.optional(), metadata: metadata.optional() }

export const NewSessionBody = z.strictObject(sessionInfo)
export const UpdateSessionBody = z
  .strictObject(sessionInfo)
  .refine(({ title, metadata }) => title !== undefined || metadata !== undefined, 'expected a title or metadata')
  .meta({ minProperties: 1 })

/** A whole number in a query. */
export const wholeNumber = (description: string, minimum: number, maximum: number) =>
  z
    .string()
    .refine(
      digits => /^\d{1,6}$/.test(digits) && Number(digits) >= minimum && Number(digits) <= maximum,
      `expected a whole number from ${minimum} to ${maximum}`,
    )
    .optional()
    .meta({ description, type: 'integer', minimum, maximum })

/** One of several words in a query. */
export const oneOf = <const W extends readonly string[]>(description: string, values: W) =>
  z.enum(values).optional().meta({ description })

/** Any text in a query. The handler validates it. */
export const optionalText = (description: string) => z.string().optional().meta({ description })

/** Any number of texts in a query. */
export const textList = (description: string) => z.array(z.string()).meta({ description })

/** An optional name in a query. */
export const optionalName = (description: string) => name.optional().meta({ description })

/** One or more names in a query. */
export const nameList = (description: string) =>
  z
    .array(name)
    .refine(all => all.length > 0, 'expected at least one')
    .meta({ description, minItems: 1, uniqueItems: true })

export const ErrorSchema = z.object({
  error: z.object({ code: z.string(), message: z.string(), retryable: z.boolean() }),
})

export const AcceptedRun = z.object({ sessionId: z.string(), runId: z.string(), sequence: z.int().optional() })
export const AnswerResult = z.union([z.object({ sequence: z.int() }), z.object({ until: z.number() })])
export const Stopped = z.object({ runId: z.string().optional(), stopped: z.boolean() })
export const CreatedSession = z.object({ sessionId: z.string() })

const status = z.enum(['active', 'paused', 'ended', 'failed'])

export const SessionSummarySchema = z.object({
  sessionId: z.string(),
  title: z.string().optional(),
  line: z.string().optional(),
  status,
  created: z.number(),
  updated: z.number(),
  sequence: z.int(),
})
export const SessionList = z.object({ sessions: z.array(SessionSummarySchema), next: z.string().nullable() })
const Page = z.object({
  total: z.int().describe('Total number of messages.'),
  hasMore: z.boolean().describe('Whether there are older messages.'),
  before: z.string().optional().describe('Value of `before` for the next request for older messages.'),
})
export const SessionView = z.object({
  sequence: z.int(),
  cursor: z.string(),
  title: z.string().optional(),
  metadata: anyObject.optional(),
  page: Page.optional(),
  view: anyObject,
})
/** A page of older messages without a view. It cannot be followed. */
export const OlderMessages = z.object({ sequence: z.int(), page: Page, messages: z.array(anyObject) })
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
export const Health = z.object({ status: z.literal('ok'), protocol: z.int() })

/** JSON Schema for exactly one of two fields. */
function exactlyOneOf(one: string, other: string) {
  return { oneOf: [{ required: [one] }, { required: [other] }] }
}
