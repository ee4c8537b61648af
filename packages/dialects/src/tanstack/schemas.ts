// Schemas of the chunks of the first protocol of TanStack AI and of the requests of its clients.

import type { Json } from '@millrace/protocol'
import * as z from 'zod'
import { approvalIdOf } from '../ag-ui/events/interrupts.ts'
import { clientRequestOf as clientRequestOfAgUi, type RunAgentInput, RunAgentInputSchema } from '../ag-ui/schemas.ts'
import {
  type ClientAnswer,
  type ClientMessage,
  type ClientRequest,
  mergeAnswers,
  type UserPart,
} from '../dialect/client-request.ts'
import { jsonOrText } from '../dialect/json-or-text.ts'
import { AnswersSchema, anyJson, anyObject } from '../dialect/schemas.ts'

const base = { id: z.string(), model: z.string(), timestamp: z.number() }

export const ContentStreamChunkSchema = z.looseObject({
  type: z.literal('content'),
  ...base,
  delta: z.string().optional(),
  content: z.string(),
  role: z.literal('assistant').optional(),
})

export const ToolCallStreamChunkSchema = z.looseObject({
  type: z.literal('tool_call'),
  ...base,
  toolCall: z.object({
    id: z.string(),
    type: z.literal('function'),
    function: z.object({ name: z.string(), arguments: z.string() }),
  }),
  index: z.int().min(0),
})

export const ToolResultStreamChunkSchema = z.looseObject({
  type: z.literal('tool_result'),
  ...base,
  toolCallId: z.string(),
  content: z.string(),
})

export const DoneStreamChunkSchema = z.looseObject({
  type: z.literal('done'),
  ...base,
  finishReason: z.enum(['stop', 'length', 'content_filter', 'tool_calls']).nullable(),
  usage: z.object({ promptTokens: z.number(), completionTokens: z.number(), totalTokens: z.number() }).optional(),
})

export const ErrorStreamChunkSchema = z.looseObject({
  type: z.literal('error'),
  ...base,
  error: z.object({ message: z.string(), code: z.string().optional() }),
})

export const ApprovalRequestedStreamChunkSchema = z.looseObject({
  type: z.literal('approval-requested'),
  ...base,
  toolCallId: z.string(),
  toolName: z.string(),
  input: anyJson,
  approval: z.object({ id: z.string(), needsApproval: z.literal(true) }),
})

export const ToolInputAvailableStreamChunkSchema = z.looseObject({
  type: z.literal('tool-input-available'),
  ...base,
  toolCallId: z.string(),
  toolName: z.string(),
  input: anyJson,
})

export const ThinkingStreamChunkSchema = z.looseObject({
  type: z.literal('thinking'),
  ...base,
  delta: z.string().optional(),
  content: z.string(),
})

export const StreamChunkSchema = z.discriminatedUnion('type', [
  ContentStreamChunkSchema,
  ToolCallStreamChunkSchema,
  ToolResultStreamChunkSchema,
  DoneStreamChunkSchema,
  ErrorStreamChunkSchema,
  ApprovalRequestedStreamChunkSchema,
  ToolInputAvailableStreamChunkSchema,
  ThinkingStreamChunkSchema,
])

const contentPart = z.looseObject({ type: z.string() })

const modelMessage = z.looseObject({
  role: z.enum(['user', 'assistant', 'tool', 'system', 'developer']),
  content: z.union([z.string(), z.null(), z.array(contentPart)]),
  toolCallId: z.string().optional(),
})

const ApprovalsSchema = z
  .record(z.string(), z.boolean())
  .meta({ description: 'Decisions by approval id. The transcript has no field for them.' })

/** The request body of `fetchServerSentEvents` and `fetchHttpStream` up to 0.2. The application gets unknown fields as `data`. */
export const ChatRequestSchema = z
  .looseObject({
    messages: z.array(modelMessage).min(1),
    /** The `body` option of the client, with the conversation id. */
    data: z
      .looseObject({
        conversationId: z.string(),
        approvals: ApprovalsSchema.optional(),
        answers: AnswersSchema.optional(),
      })
      .optional(),
    /** For requests without a TanStack AI client. Equal to that of `data` if both are given. */
    conversationId: z.string().optional(),
    approvals: ApprovalsSchema.optional(),
    answers: AnswersSchema.optional(),
    content: z.enum(['cumulative', 'empty']).optional(),
  })
  .superRefine(({ messages, data, conversationId = data?.conversationId }, check) => {
    const refuse = (path: (string | number)[], message: string) => check.addIssue({ code: 'custom', path, message })
    if (data && data.conversationId !== conversationId)
      refuse(['conversationId'], 'expected the same id as in `data.conversationId`, found another')
    messages.forEach(({ role, content, toolCallId }, i) => {
      if (role === 'tool' && toolCallId === undefined)
        refuse(['messages', i, 'toolCallId'], 'expected the id of a tool call, found none')
      if (role === 'tool' && typeof content !== 'string')
        refuse(['messages', i, 'content'], 'expected the result of the call as text')
      if (role !== 'user' || !Array.isArray(content)) return
      const at = content.findIndex(part => partOf(part) === undefined)
      if (at >= 0) refuse(['messages', i, 'content', at], 'expected a text, image, audio, video or document')
    })
  })

type TanstackChatRequest = z.output<typeof ChatRequestSchema>

export type { TanstackChatRequest as ChatRequest }

type ModelMessage = z.output<typeof modelMessage>

/** Parses a request body. */
export function clientRequestOf({ messages, data, approvals, answers = [] }: TanstackChatRequest): ClientRequest {
  const decided = [data?.approvals, approvals].flatMap(decisions => Object.entries(decisions ?? {}))
  const endsWithUserMessage = messages.at(-1)?.role === 'user'
  return {
    userMessages: messages.filter(({ role }) => role === 'user').map(clientMessageOf),
    endsWithUserMessage,
    answers: mergeAnswers(messages.flatMap(resultsIn), [
      // The stream has the approval id, the history the id of its interrupt.
      ...decided.map(([id, approved]) => ({ kind: 'approval', id: approvalIdOf(id), approved }) as const),
      ...(data?.answers ?? []),
      ...answers,
    ]),
    ...(messages.some(isInstruction) && { forbiddenContent: 'expected no instructions: only the server sets them' }),
    // `reload()` repeats the last request.
    ...(endsWithUserMessage && { regenerate: true }),
  }
}

const isInstruction = ({ role }: ModelMessage): boolean => role === 'system' || role === 'developer'

function resultsIn({ role, toolCallId, content }: ModelMessage): readonly ClientAnswer[] {
  if (role !== 'tool' || toolCallId === undefined || typeof content !== 'string') return []
  return [{ kind: 'tool-result', id: toolCallId, output: jsonOrText(content) }]
}

function clientMessageOf({ content }: ModelMessage): ClientMessage {
  if (typeof content === 'string') return { parts: [{ type: 'text', text: content }] }
  return { parts: (content ?? []).flatMap(part => partOf(part) ?? []) }
}

/** Default media types by part type. */
const MEDIA: Readonly<Record<string, string>> = {
  image: 'image/*',
  audio: 'audio/*',
  video: 'video/*',
  document: 'application/octet-stream',
}

/** A part of a user message. Undefined if it is none. */
function partOf(part: z.output<typeof contentPart>): UserPart | undefined {
  const { type, content, text = content, source } = part as Record<string, unknown>
  if (type === 'text') return typeof text === 'string' ? { type, text } : undefined
  const defaultType = MEDIA[type as string]
  const from = anyObject.safeParse(source).data
  if (defaultType === undefined || typeof from?.['value'] !== 'string') return undefined
  const { value, mimeType } = from
  const declaredType = typeof mimeType === 'string' ? mimeType : value.match(/^data:([^;,]+)/)?.[1]
  const mediaType = declaredType ?? defaultType
  const url = from['type'] === 'data' && !value.startsWith('data:') ? `data:${mediaType};base64,${value}` : value
  return { type: 'file', url, mediaType }
}

/** Application data of a request. */
export function dataOf({ messages, data, approvals, answers, content, conversationId, ...rest }: TanstackChatRequest) {
  const { conversationId: _, approvals: __, answers: ___, ...more } = data ?? {}
  const all = { ...more, ...rest }
  return Object.keys(all).length === 0 ? undefined : (all as Json)
}

export { type RunAgentInput, RunAgentInputSchema }

/** Whether a request uses the protocol of AG-UI. */
export const isRunAgentInput = (body: RunAgentInput | TanstackChatRequest): body is RunAgentInput =>
  typeof body['threadId'] === 'string' && typeof body['runId'] === 'string'

/** A request of either protocol. */
export const TanstackRequestSchema = z.union([
  RunAgentInputSchema,
  // The ids decide, so that no request is read by the rules of the other protocol.
  ChatRequestSchema.refine(body => !isRunAgentInput(body), 'expected a request of AG-UI, as it has its ids'),
])

/** Parses a request of a client since 0.10. The decision about a call can be in place of its result. */
export function clientRequestOfInput(body: RunAgentInput): ClientRequest {
  const decided = new Set(body.messages.filter(isDecision).map(({ id }) => id))
  const messages = body.messages.filter(({ id }) => !decided.has(id))
  const posted = clientRequestOfAgUi({ ...body, messages })
  if (decided.size === 0) return posted
  const decisions = body.messages.filter(isDecision).map(({ toolCallId = '', content }): ClientAnswer => {
    const { approved } = jsonOrText(content as string) as { approved: boolean }
    return { kind: 'approval', id: toolCallId, approved }
  })
  return {
    ...posted,
    endsWithUserMessage: body.messages.at(-1)?.role === 'user',
    answers: [...posted.answers, ...decisions],
  }
}

const DECISION: ReadonlySet<string> = new Set(['approved', 'pendingExecution', 'message'])

/** Whether a tool message has a decision about a call instead of its result. */
export function isDecision({ role, content }: RunAgentInput['messages'][number]): boolean {
  if (role !== 'tool' || typeof content !== 'string') return false
  const decision = anyObject.safeParse(jsonOrText(content)).data
  if (typeof decision?.['approved'] !== 'boolean' || typeof decision['message'] !== 'string') return false
  return Object.keys(decision).every(key => DECISION.has(key))
}
