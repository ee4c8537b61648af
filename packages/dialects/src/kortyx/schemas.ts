// Schemas of the chunks and requests of Kortyx.

import type { Json, JsonObject } from '@millrace/protocol'
import { isObject } from '@millrace/protocol/internal'
import * as z from 'zod'
import type { ClientMessage, ClientRequest } from '../dialect/client-request.ts'
import { anyObject } from '../dialect/schemas.ts'

const text = z.string().optional()
const anyValue = z.unknown()
const nodeFields = { node: text, id: text, opId: text }
const segment = { ...nodeFields, segmentId: text }
const call = { ...nodeFields, tool: z.string(), toolCallId: z.string() }
const schemaFields = { schemaId: text, schemaVersion: text, meta: anyObject.optional() }
const path = z.string().min(1)

const structured = {
  type: z.literal('structured-data'),
  streamId: z.string(),
  dataType: z.string(),
  schemaId: text,
  schemaVersion: text,
  id: text,
  node: text,
}

/** An update of a structured object. */
export const StructuredDataChunkSchema = z.discriminatedUnion('kind', [
  z.looseObject({ ...structured, kind: z.literal('set'), path, value: anyValue }),
  z.looseObject({ ...structured, kind: z.literal('append'), path, items: z.array(anyValue) }),
  z.looseObject({ ...structured, kind: z.literal('text-delta'), path, delta: z.string() }),
  z.looseObject({ ...structured, kind: z.literal('final'), data: anyValue }),
])

const option = z.looseObject({ id: z.string(), label: z.string(), description: text })
const input = z.discriminatedUnion('kind', [
  z.looseObject({
    kind: z.literal('text'),
    multiple: z.boolean(),
    question: text,
    id: text,
    options: z.array(z.never()).optional(),
    ...schemaFields,
  }),
  z.looseObject({
    kind: z.enum(['choice', 'multi-choice']),
    multiple: z.boolean(),
    question: z.string(),
    id: text,
    options: z.array(option),
    ...schemaFields,
  }),
])

/** A chunk of a stream. */
export const StreamChunkSchema = z.union([
  z.discriminatedUnion('type', [
    z.looseObject({ type: z.literal('session'), sessionId: z.string() }),
    z.looseObject({
      type: z.literal('trace'),
      traceId: z.string(),
      spanId: z.string(),
      runId: z.string(),
      rootSpanName: z.literal('kortyx.run'),
    }),
    z.looseObject({ type: z.literal('status'), message: z.string(), node: text }),
    z.looseObject({ type: z.literal('text-start'), ...segment }),
    z.looseObject({ type: z.literal('text-delta'), delta: z.string(), ...segment }),
    z.looseObject({ type: z.literal('text-end'), ...segment }),
    z.looseObject({ type: z.literal('message'), content: z.string(), node: text }),
    z.looseObject({ type: z.literal('tool-call-start'), input: anyValue.optional(), ...call }),
    z.looseObject({
      type: z.literal('tool-call-result'),
      content: anyValue,
      structuredContent: anyValue.optional(),
      isError: z.boolean().optional(),
      ...call,
    }),
    z.looseObject({ type: z.literal('tool-call-error'), message: z.string(), ...call }),
    z.looseObject({ type: z.literal('tool-result'), tool: text, node: text, content: anyValue }),
    z.looseObject({
      type: z.literal('structured-data-invalidated'),
      streamId: z.string(),
      checkpointId: z.string(),
    }),
    z.looseObject({
      type: z.literal('interrupt'),
      requestId: z.string(),
      resumeToken: z.string(),
      workflow: text,
      input,
      ...nodeFields,
      ...schemaFields,
    }),
    z.looseObject({ type: z.literal('transition'), transitionTo: z.string(), payload: anyValue.optional() }),
    z.looseObject({
      type: z.literal('checkpoint'),
      id: z.string(),
      sessionId: z.string(),
      turnIndex: z.int().nonnegative(),
      label: text,
    }),
    z.looseObject({ type: z.literal('done'), data: anyValue.optional() }),
    z.looseObject({ type: z.literal('error'), message: z.string() }),
  ]),
  StructuredDataChunkSchema,
])

const message = z.looseObject({
  role: z.enum(['user', 'assistant', 'system', 'developer']),
  content: z.string(),
  id: text,
  timestamp: z.number().optional(),
  metadata: anyObject.optional(),
})

/**
 * The request body of `useChat` and `streamChatFromRoute`. The application gets `context` and unknown fields as `data`. They never replace the
 * context of the server.
 */
export const ChatRequestSchema = z.looseObject({
  sessionId: text,
  workflowId: text,
  messages: z.array(message).min(1),
  /** False requests a single JSON response. @default true */
  stream: z.boolean().optional(),
  context: anyObject.optional(),
  /** Regenerates the last reply. @default false */
  regenerate: z.boolean().optional(),
})

type KortyxChatRequest = z.output<typeof ChatRequestSchema>

export type { KortyxChatRequest as ChatRequest }

/** The answer to an interrupt, with its token. */
export interface Resume {
  readonly token: string
  readonly requestId: string
  /** The selected values. Undefined if there is no selection, if one of its items is no id, or if two forms of it differ. */
  readonly selected: readonly string[] | undefined
  /** Whether the interrupt is cancelled. The message is a new one then. */
  readonly isCancelled: boolean
}

/** The answer in the last message, if there is one. */
export function resumeIn({ messages }: KortyxChatRequest): Resume | undefined {
  const { metadata, role } = messages.at(-1) ?? {}
  const resume = metadata?.['resume']
  if (role !== 'user' || !isObject(resume)) return undefined
  const { token, requestId, cancel } = resume
  return {
    token: typeof token === 'string' ? token : '',
    requestId: typeof requestId === 'string' ? requestId : '',
    selected: selectionOf(resume),
    isCancelled: cancel === true,
  }
}

/** Kortyx accepts a selection in several forms. */
function selectionOf({ selected, choice, choices }: JsonObject): readonly string[] | undefined {
  const forms = [selected, choices, choice].flatMap(form => (form === undefined || form === null ? [] : [idsOf(form)]))
  const [first] = forms
  return forms.every(ids => JSON.stringify(ids) === JSON.stringify(first)) ? first : undefined
}

/** The ids in one form of a selection. Undefined if an item is no id. */
function idsOf(form: Json): readonly string[] | undefined {
  const ids = (Array.isArray(form) ? form : [form]).map(item => (isObject(item) ? item['id'] : item))
  return ids.every(id => typeof id === 'string' || typeof id === 'number') ? ids.map(String) : undefined
}

/** Parses a request body, except for its answer. */
export function clientRequestOf({ messages, regenerate }: KortyxChatRequest): ClientRequest {
  const userMessages = messages.filter(({ role }) => role === 'user').map(clientMessageOf)
  return {
    userMessages,
    endsWithUserMessage: messages.at(-1)?.role === 'user',
    answers: [],
    ...(regenerate && { regenerate }),
    ...(messages.some(({ role }) => role === 'system' || role === 'developer') && {
      forbiddenContent: 'expected no instructions: only the server sets them',
    }),
  }
}

function clientMessageOf({ id, content, metadata }: z.output<typeof message>): ClientMessage {
  const { resume, ...rest } = metadata ?? {}
  const metadataField = Object.keys(rest).length > 0 ? { metadata: rest } : {}
  return { id, parts: [{ type: 'text', text: content }], ...metadataField }
}
