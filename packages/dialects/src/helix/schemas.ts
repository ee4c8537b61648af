// Schemas of the documentation, with its names, and of client requests. Unknown fields are removed.

import type { Json } from '@millrace/protocol'
import * as z from 'zod'
import { anyJson } from '../dialect/schemas.ts'

export const BaseChunkSchema = z.object({
  agentId: z.string(),
  agentType: z.string(),
  timestamp: z.number(),
  step: z.number(),
})

const chunk = <Type extends string, Shape extends z.ZodRawShape>(type: Type, shape: Shape) =>
  BaseChunkSchema.extend({ type: z.literal(type), ...shape })

const call = { toolCallId: z.string(), toolName: z.string() }
const approval = { ...call, approvalId: z.string(), isAutomatic: z.boolean().optional() }
const child = { subAgentType: z.string(), subSessionId: z.string(), callId: z.string() }
const run = { runId: z.string() }

export const JSONPatchOperationSchema = z.discriminatedUnion('op', [
  z.object({ op: z.enum(['add', 'replace', 'test']), path: z.string(), value: z.unknown() }),
  z.object({ op: z.literal('remove'), path: z.string() }),
  z.object({ op: z.enum(['move', 'copy']), path: z.string(), from: z.string() }),
])

/** A data chunk of any of the 31 types. */
export const StreamChunkSchema = z.discriminatedUnion('type', [
  chunk('text_delta', { delta: z.string() }),
  chunk('thinking', { content: z.string(), isComplete: z.boolean() }),
  chunk('tool_arg_stream_start', call),
  chunk('tool_arg_stream_delta', { toolCallId: z.string(), delta: z.string() }),
  chunk('tool_arg_stream_end', { toolCallId: z.string() }),
  chunk('tool_start', { ...call, arguments: z.record(z.string(), z.unknown()) }),
  chunk('tool_end', {
    ...call,
    result: z.unknown(),
    error: z.string().optional(),
    errorCode: z.string().optional(),
    providerExecuted: z.boolean().optional(),
  }),
  chunk('tool_approval_request', { ...approval, input: z.unknown() }),
  chunk('tool_approval_response', { ...approval, approved: z.boolean(), reason: z.string().optional() }),
  chunk('tool_input_error', { ...call, error: z.string(), partialInput: z.unknown().optional() }),
  chunk('tool_output_error', { ...call, error: z.string() }),
  chunk('subagent_start', child),
  chunk('subagent_end', { ...child, result: z.unknown() }),
  chunk('custom', { eventName: z.string(), data: z.unknown() }),
  chunk('state_patch', { patches: z.array(JSONPatchOperationSchema) }),
  chunk('error', {
    error: z.string(),
    code: z.string().optional(),
    errorDetail: z
      .object({
        message: z.string(),
        code: z.string().optional(),
        category: z.string().optional(),
        cause: z.string().optional(),
        retryable: z.boolean().optional(),
      })
      .optional(),
    recoverable: z.boolean(),
  }),
  chunk('output', { output: z.unknown() }),
  chunk('source_url', { sourceId: z.string(), url: z.string(), title: z.string().optional() }),
  chunk('source_document', {
    sourceId: z.string(),
    mediaType: z.string(),
    title: z.string(),
    filename: z.string().optional(),
  }),
  chunk('step_start', { stepId: z.string().optional() }),
  chunk('step_end', {
    stepId: z.string().optional(),
    usage: z
      .object({
        inputTokens: z.number(),
        outputTokens: z.number(),
        cachedTokens: z.number().optional(),
        cacheWriteTokens: z.number().optional(),
      })
      .optional(),
    finishReason: z.enum(['stop', 'length', 'tool-calls', 'content-filter', 'error', 'other']).optional(),
  }),
  chunk('file', { url: z.string(), mediaType: z.string(), filename: z.string().optional() }),
  chunk('run_interrupted', { ...run, checkpointId: z.string().nullable(), reason: z.string().optional() }),
  chunk('run_resumed', {
    ...run,
    fromCheckpointId: z.string().nullable(),
    fromStepCount: z.number(),
    mode: z.string(),
  }),
  chunk('run_paused', {
    ...run,
    reason: z.string(),
    pendingToolName: z.string().optional(),
    pendingToolCallId: z.string().optional(),
  }),
  chunk('executor_superseded', { reason: z.string().optional() }),
  chunk('checkpoint_created', { ...run, checkpointId: z.string(), stepCount: z.number() }),
  chunk('step_committed', { ...run, stepId: z.string(), checkpointId: z.string() }),
  chunk('step_discarded', { ...run, stepId: z.string(), reason: z.string() }),
  chunk('stream_resync', {
    checkpointId: z.string(),
    stepCount: z.number(),
    messageCount: z.number(),
    fromSequence: z.number(),
    reason: z.enum(['crash_recovery', 'rollback', 'branch', 'retry']),
  }),
  chunk('suspension_marker', {
    kind: z.enum(['suspended_client_tool', 'suspended_awaiting_children', 'suspended_step_partial']),
    payload: z.union([
      z.object({ toolCallIds: z.array(z.string()), stepId: z.string() }),
      z.object({ toolCallIds: z.array(z.string()) }),
      z.object({ children: z.array(z.record(z.string(), z.unknown())) }),
    ]),
  }),
])

const end = z.object({
  type: z.literal('stream_end'),
  streamId: z.string(),
  timestamp: z.number(),
  finalOutput: z.unknown().optional(),
})

/** A chunk of data, or the end. */
export const StreamMessageSchema = z.discriminatedUnion('type', [...StreamChunkSchema.options, end])

/** An event of a connection. */
export const StreamEventSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('chunk'), chunk: StreamChunkSchema, sequence: z.number().optional() }),
  z.object({ type: z.literal('end'), finalOutput: z.unknown().optional() }),
  z.object({ type: z.literal('fail'), error: z.string() }),
  z.object({ type: z.literal('status'), status: z.enum(['paused', 'active']) }),
  z.object({ type: z.literal('truncated'), truncatedAtStep: z.number(), atSequence: z.number().optional() }),
])

/** Maximum lengths, in characters. */
const MAX_LENGTH = { id: 256, approvalId: 512, checkpointId: 4096, error: 8192 }

/** An id without control characters, which could imitate another id, and without lone surrogates, which cannot be encoded. */
const boundedId = (maxLength: number) =>
  z
    .string()
    .refine(
      text => text !== '' && text.length <= maxLength && !/[\p{Cc}\p{Cs}]/u.test(text),
      `expected 1 to ${maxLength} characters, none of them a control character`,
    )
    .meta({ minLength: 1, maxLength, pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]*$' })

const id = boundedId(MAX_LENGTH.id)
const sessionId = id
const inSession = { sessionId }

/** Query parameters with a session id. */
export const SessionQuerySchema = sessionId.meta({ description: 'The session.' })

/** Sends a message and starts a run. Creates a session if none is named. */
export const StartRequestSchema = z.strictObject({
  sessionId: sessionId.optional(),
  message: z.string().min(1),
  /** Client id of the message. A repeated id makes the request idempotent. */
  messageId: id
    .refine(text => !text.includes('::'), 'expected an id without `::`')
    .meta({ not: { pattern: '::' } })
    .optional(),
  /** Application data. Untrusted. */
  data: anyJson.optional(),
})

/** Resumes the latest interrupted run of a session. */
export const ResumeRequestSchema = z.discriminatedUnion('mode', [
  z.strictObject({ ...inSession, mode: z.literal('continue') }),
  z.strictObject({ ...inSession, mode: z.literal('with_message'), message: z.string().min(1) }),
  z.strictObject({
    ...inSession,
    mode: z.literal('with_confirmation'),
    confirmed: z.boolean(),
    reason: z.string().max(MAX_LENGTH.error).optional(),
  }),
  z.strictObject({
    ...inSession,
    mode: z.literal('from_checkpoint'),
    checkpointId: boundedId(MAX_LENGTH.checkpointId),
  }),
])

/** Regenerates the latest turn of a session. */
export const RetryRequestSchema = z.strictObject(inSession)

/** Stops a run. @default the open run of the session */
export const StopRequestSchema = z.strictObject({
  ...inSession,
  runId: id.optional(),
  reason: z.string().max(MAX_LENGTH.error).optional(),
})

/** Answers a client tool call or an approval, or, as an addition, an interrupt. The kinds are strictly separate. */
export const SubmitToolResultSchema = z.discriminatedUnion('kind', [
  z
    .strictObject({
      ...inSession,
      kind: z.literal('client-tool-result'),
      toolCallId: id,
      result: anyJson.optional(),
      error: z.string().max(MAX_LENGTH.error).optional(),
      errorCode: z
        .string()
        .regex(/^[a-z0-9_]{1,64}$/)
        .optional(),
    })
    .refine(({ result, error }) => (result === undefined) !== (error === undefined), 'expected a result or an error')
    .refine(({ error, errorCode }) => errorCode === undefined || error !== undefined, {
      path: ['errorCode'],
      error: 'expected an error with it',
    })
    .meta({
      oneOf: [{ required: ['result'] }, { required: ['error'] }],
      dependentRequired: { errorCode: ['error'] },
    }),
  z.strictObject({
    ...inSession,
    kind: z.literal('approval-response'),
    /** Must be the call of the approval. */
    toolCallId: id.optional(),
    approvalId: boundedId(MAX_LENGTH.approvalId),
    approved: z.boolean(),
    reason: z.string().max(MAX_LENGTH.error).optional(),
  }),
  z.strictObject({
    ...inSession,
    kind: z.literal('interrupt-response'),
    interruptId: boundedId(MAX_LENGTH.approvalId),
    response: anyJson,
  }),
])

/** An accepted run. */
export const StartedSchema = z.object({
  sessionId: z.string(),
  streamId: z.string(),
  runId: z.string(),
  /** Chunks after this sequence belong to the run. */
  streamSequence: z.number(),
})

const status = z.enum(['active', 'paused', 'ended', 'failed'])

/** The status of a session. */
export const StatusSchema = z.object({
  sessionId: z.string(),
  streamId: z.string(),
  status,
  runId: z.string().nullable(),
  streamSequence: z.number(),
})

/** The result of an answer. The run continues by itself. */
export const SubmittedSchema = z.object({
  status: z.enum(['accepted', 'already_completed', 'late_answer_after_timeout']),
  continuation: z.enum(['automatic', 'none']),
})

/** A snapshot of a session and its position in the stream, read atomically. */
export const SnapshotSchema = StatusSchema.extend({
  messages: z.array(z.looseObject({ id: z.string(), role: z.string(), parts: z.array(z.looseObject({})) })),
  state: z.custom<Json>().nullable().meta({ description: 'Any JSON' }),
  output: z.custom<Json>().nullable().meta({ description: 'Any JSON' }),
})

export type SubmitToolResult = z.output<typeof SubmitToolResultSchema>
export type ResumeRequest = z.output<typeof ResumeRequestSchema>
