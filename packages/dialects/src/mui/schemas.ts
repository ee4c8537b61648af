// Schemas of the chunks of MUI X Chat and of the requests of an adapter.

import * as z from 'zod'
import type { ClientRequest, UserPart } from '../dialect/client-request.ts'
import { AnswersSchema, anyObject } from '../dialect/schemas.ts'
import { EXTENSION } from './events/mui-event.ts'

const id = z.string()
const flag = z.boolean().optional()
const text = z.string().optional()
const call = { toolCallId: z.string() }
const opening = { ...call, toolName: z.string(), dynamic: flag }

const knownChunk = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('start'), messageId: text, author: anyObject.optional() }),
  z.looseObject({ type: z.literal('finish'), messageId: text, finishReason: text }),
  z.looseObject({ type: z.literal('abort'), messageId: text }),
  z.looseObject({ type: z.literal('error'), errorText: text, message: text }),
  z.looseObject({ type: z.enum(['text-start', 'text-end', 'reasoning-start', 'reasoning-end']), id }),
  z.looseObject({ type: z.enum(['text-delta', 'reasoning-delta']), id, delta: z.string() }),
  z.looseObject({ type: z.literal('tool-input-start'), ...opening }),
  z.looseObject({ type: z.literal('tool-input-delta'), ...call, inputTextDelta: z.string() }),
  z.looseObject({ type: z.literal('tool-input-available'), ...opening, input: z.unknown() }),
  z.looseObject({ type: z.literal('tool-input-error'), ...call, errorText: z.string() }),
  z.looseObject({ type: z.literal('tool-approval-request'), ...opening, input: z.unknown(), approvalId: text }),
  z.looseObject({ type: z.literal('tool-output-available'), ...call, output: z.unknown(), preliminary: flag }),
  z.looseObject({ type: z.literal('tool-output-error'), ...call, errorText: z.string() }),
  z.looseObject({ type: z.literal('tool-output-denied'), ...call, reason: text }),
  z.looseObject({ type: z.literal('source-url'), sourceId: id, url: z.string(), title: text }),
  z.looseObject({ type: z.literal('source-document'), sourceId: id, title: text, text }),
  z.looseObject({ type: z.literal('file'), mediaType: z.string(), url: z.string(), filename: text, id: text }),
  z.looseObject({ type: z.enum(['start-step', 'finish-step']) }),
  z.looseObject({ type: z.literal('message-metadata'), metadata: anyObject }),
])

const data = z.looseObject({
  type: z.templateLiteral(['data-', z.string()]),
  data: z.unknown(),
  id: text,
  transient: flag,
})

/** A chunk of a reply. */
export const ChatMessageChunkSchema = z.union([knownChunk, data])

/** A chunk with `eventId`, to detect repeats, and `sequence`, for its order. */
export const ChatStreamEnvelopeSchema = z.looseObject({
  eventId: text,
  sequence: z.int().optional(),
  chunk: ChatMessageChunkSchema,
})

const message = z.looseObject({
  id: z.string(),
  role: z.enum(['system', 'developer', 'user', 'assistant']).optional(),
  parts: z.array(z.looseObject({ type: z.string() })),
  metadata: anyObject.optional(),
})

/** A page of messages, and the open run. */
export const HistorySchema = z.object({
  messages: z.array(
    z.looseObject({
      id: z.string(),
      role: z.enum(['system', 'user', 'assistant']),
      status: z.enum(['sending', 'streaming', 'sent', 'cancelled', 'error']),
      parts: z.array(z.looseObject({ type: z.string() })),
      createdAt: text,
      metadata: anyObject.optional(),
    }),
  ),
  hasMore: z.boolean(),
  cursor: text.describe('Cursor of the page before this one.'),
  run: text.describe('Id of the open run.'),
  answers: z.record(z.string(), z.string()).optional().describe('Ids of the replies, by the id of the user message.'),
})

/** The request of an adapter: a message, a regeneration, or answers. The application gets unknown fields as `data`. */
export const ChatRequestSchema = z.looseObject({
  conversationId: z.string(),
  /** The new user message only. Earlier messages are in the log. */
  message: message.optional(),
  /** Regenerates the reply to the message: any reply, or only the one with this id. */
  regenerate: z.union([z.boolean(), z.string()]).optional(),
  answers: AnswersSchema.optional(),
})

type MuiChatRequest = z.output<typeof ChatRequestSchema>

export type { MuiChatRequest as ChatRequest }

/** Parses a request body. */
export function clientRequestOf({ message, regenerate, answers = [] }: MuiChatRequest): ClientRequest {
  return {
    userMessages: message ? [{ id: message.id, parts: userPartsOf(message.parts), metadata: message.metadata }] : [],
    endsWithUserMessage: message !== undefined,
    answers,
    ...((message?.role ?? 'user') !== 'user' && {
      forbiddenContent: 'expected a user message: clients cannot send other roles',
    }),
    ...(regenerate !== undefined && { regenerate }),
  }
}

/** Parts that a user may send. Files that only the page can open are dropped. */
const userPartsOf = (parts: z.output<typeof message>['parts']): UserPart[] =>
  parts
    .filter(({ type, url }) => type !== EXTENSION && !(type === 'file' && String(url).startsWith('blob:')))
    .map(({ state, ...part }) => part) as unknown as UserPart[]
