// The request body of an AG-UI client, and the content of it that a client may send. types.ts has the events.

import * as z from 'zod'
import {
  type ClientAnswer,
  type ClientMessage,
  type ClientRequest,
  mergeAnswers,
  type UserPart,
} from '../dialect/client-request.ts'
import { anyJson, anyObject } from '../dialect/schemas.ts'
import { outputOf } from './events/event-to-chunk.ts'
import { answerFromResume, isUndecided } from './events/interrupts.ts'

const source = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('data'), value: z.string(), mimeType: z.string() }),
  z.looseObject({ type: z.literal('url'), value: z.string(), mimeType: z.string().optional() }),
])

const content = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text'), text: z.string() }),
  z.looseObject({ type: z.enum(['image', 'audio', 'video', 'document']), source }),
])

const message = z.looseObject({
  id: z.string(),
  role: z.enum(['developer', 'system', 'assistant', 'user', 'tool', 'activity', 'reasoning']),
  content: anyJson.optional(),
  toolCallId: z.string().optional(),
  error: z.string().optional(),
})

const userContent = z.union([z.string(), z.array(content)])

const resume = z.looseObject({
  interruptId: z.string(),
  status: z.enum(['resolved', 'cancelled']),
  payload: anyJson.optional(),
})

/**
 * The body of an `HttpAgent` request. The application gets `context` and `forwardedProps` as `data`. `state` and `tools` are ignored: the server has
 * its own.
 */
export const RunAgentInputSchema = z
  .looseObject({
    threadId: z.string(),
    runId: z.string(),
    parentRunId: z.string().optional(),
    messages: z.array(message),
    resume: z.array(resume).optional(),
    context: z.array(anyObject).optional(),
    forwardedProps: anyJson.optional(),
    state: anyJson.optional(),
    tools: z.array(anyObject).optional(),
  })
  .superRefine(({ messages, resume = [] }, check) => {
    resume.forEach((entry, i) => {
      if (isUndecided(entry))
        check.addIssue({
          code: 'custom',
          path: ['resume', i, 'payload'],
          message: 'expected true, false or an object with `approved`',
        })
    })
    messages.forEach(({ role, content, toolCallId }, i) => {
      if (role === 'user' && !userContent.safeParse(content).success)
        check.addIssue({
          code: 'custom',
          path: ['messages', i, 'content'],
          message: 'expected a string or an array of parts',
        })
      if (role === 'tool' && toolCallId === undefined)
        check.addIssue({
          code: 'custom',
          path: ['messages', i, 'toolCallId'],
          message: 'expected the id of a tool call, found none',
        })
    })
  })

export type RunAgentInput = z.output<typeof RunAgentInputSchema>

type InputMessage = RunAgentInput['messages'][number]

/**
 * Parses a request body. A transcript that ends with a user message that has a reply asks for another reply, unless
 * the request answers an interrupt.
 */
export function clientRequestOf({ messages, resume = [] }: RunAgentInput): ClientRequest {
  const endsWithUserMessage = messages.at(-1)?.role === 'user'
  const instruction = messages.find(({ role }) => role === 'system' || role === 'developer')
  const results = messages.filter(({ role }) => role === 'tool').map(resultOf)
  const answers = resume.flatMap(entry => answerFromResume(entry) ?? [])
  return {
    userMessages: messages.filter(({ role }) => role === 'user').map(clientMessageOf),
    endsWithUserMessage,
    answers: mergeAnswers(results, answers),
    ...(instruction && {
      forbiddenContent: `message ${instruction.id}: expected no instructions: only the agent sets them`,
    }),
    ...(endsWithUserMessage && resume.length === 0 && { regenerate: true }),
  }
}

function clientMessageOf({ id, content }: InputMessage): ClientMessage {
  const parts =
    typeof content === 'string' ? [{ type: 'text' as const, text: content }] : (content as unknown as InputPart[])
  return { id, parts: parts.map(partOf) }
}

type InputPart = z.output<typeof content>

function partOf(part: InputPart): UserPart {
  if (part.type === 'text') return { type: 'text', text: part.text }
  const { value, mimeType = `${part.type === 'document' ? 'application' : part.type}/*`, type } = part.source
  return { type: 'file', url: type === 'data' ? `data:${mimeType};base64,${value}` : value, mediaType: mimeType }
}

function resultOf({ toolCallId: id = '', content, error }: InputMessage): ClientAnswer {
  if (error !== undefined) return { kind: 'tool-result', id, error }
  return { kind: 'tool-result', id, output: outputOf(content) }
}
