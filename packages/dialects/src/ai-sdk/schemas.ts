// The request body of `useChat`, and the content of it that a client may send. types.ts has the events.

import type { Json } from '@millrace/protocol'
import * as z from 'zod'
import type { ClientAnswer, ClientMessage, ClientRequest, UserPart } from '../dialect/client-request.ts'
import { AnswersSchema, anyObject } from '../dialect/schemas.ts'
import { EXTENSION } from './events/extension.ts'

const part = z.looseObject({ type: z.string() })

const role = z.enum(['system', 'user', 'assistant'])

const message = z.looseObject({
  id: z.string().optional(),
  role: z.enum([...role.options, 'developer']),
  parts: z.array(part),
  metadata: anyObject.optional(),
})

/** A message of `useChat`. */
export const UIMessageSchema = z.object({
  id: z.string(),
  role,
  parts: z.array(part),
  metadata: anyObject.optional(),
})

/** The body of a `DefaultChatTransport` request. The server passes other fields to the application as `data`. */
export const ChatRequestSchema = z.looseObject({
  id: z.string(),
  messages: z.array(message).min(1),
  trigger: z.enum(['submit-message', 'regenerate-message']).optional(),
  messageId: z.string().optional(),
  /** `sendMessage(undefined, { body: { answers } })`. */
  answers: AnswersSchema.optional(),
})

type AiSdkChatRequest = z.output<typeof ChatRequestSchema>

export type { AiSdkChatRequest as ChatRequest }

/** Parses a request body. */
export function clientRequestOf({ messages, trigger, messageId, answers = [] }: AiSdkChatRequest): ClientRequest {
  const userMessages = messages.filter(({ role }) => role === 'user').map(clientMessageOf)
  const answersInMessages = messages
    .filter(({ role }) => role === 'assistant')
    .flatMap(({ parts }) => parts.flatMap(answersIn))
  return {
    userMessages,
    endsWithUserMessage: messages.at(-1)?.role === 'user',
    answers: [...answersInMessages, ...answers],
    ...(messages.some(({ role }) => role === 'system' || role === 'developer') && {
      forbiddenContent: 'expected no instructions: only the server sets them',
    }),
    ...(trigger === 'regenerate-message' && { regenerate: messageId ?? true }),
  }
}

type UIPart = z.output<typeof part>

function clientMessageOf({ id, parts, metadata }: z.output<typeof message>): ClientMessage {
  const userParts = parts.filter(({ type }) => type !== 'step-start' && type !== EXTENSION)
  return { id, parts: userParts as unknown as UserPart[], metadata }
}

/** The answer or result in a part of an assistant message. */
function answersIn(part: UIPart): readonly ClientAnswer[] {
  const { type, toolCallId, state, approval, input, output, errorText, providerExecuted } = part
  if (typeof toolCallId !== 'string' || !(type.startsWith('tool-') || type === 'dynamic-tool')) return []
  if (state === 'approval-responded') {
    const { id, approved, reason } = (approval ?? {}) as Record<string, unknown>
    if (typeof id !== 'string' || typeof approved !== 'boolean') return []
    const why = typeof reason === 'string' ? { reason } : {}
    return [{ kind: 'approval', id, approved, ...why, ...(input !== undefined && { input: input as Json }) }]
  }
  if (providerExecuted) return []
  if (state === 'output-available') return [{ kind: 'tool-result', id: toolCallId, output: (output ?? null) as Json }]
  return state === 'output-error' ? [{ kind: 'tool-result', id: toolCallId, error: String(errorText ?? '') }] : []
}
