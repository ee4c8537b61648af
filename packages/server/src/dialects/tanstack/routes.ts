// Routes for TanStack AI clients of both protocols. The request body tells which protocol a client speaks.

import { isRunAgentInput, TanstackRequestSchema } from '@millrace/dialects/tanstack/schemas'
import * as z from 'zod'
import { type RouteCall, RUN_ID, route, SESSION_ID } from '../../routing/route.ts'
import { optionalText } from '../../routing/schemas.ts'
import { replyWithChunks } from './chunks.ts'
import { readOrJoin, replyWithEvents } from './events.ts'

const format = z.enum(['sse', 'ndjson']).optional().meta({ description: 'Format of the stream, instead of `Accept`.' })

const Hydrated = z.object({
  messages: z.array(z.looseObject({ id: z.string(), role: z.string(), parts: z.array(z.looseObject({})) })),
  activeRun: z.object({ runId: z.string() }).nullable(),
  interrupts: z.object({ runId: z.string(), pending: z.array(z.looseObject({ id: z.string() })) }).nullable(),
})

/** The routes for TanStack AI clients. */
export const tanstack = [
  route({
    method: 'POST',
    path: '/tanstack/:agent',
    action: 'run',
    summary:
      'For TanStack AI: sends a message, answers pending requests, or regenerates. Replies with chunks for clients up to 0.2, and with AG-UI events for clients since 0.10.',
    body: TanstackRequestSchema,
    query: {
      format,
      content: z
        .enum(['cumulative', 'empty'])
        .optional()
        .meta({ description: '`content` of chunks: all of the text so far, or empty.' }),
    },
    headers: { 'Last-Event-ID': 'The last event id that the client received, to resume after it.' },
    streams: true,
    replyHeaders: { ...SESSION_ID, ...RUN_ID },
    handle: async call => {
      const { body } = call
      return isRunAgentInput(body)
        ? replyWithEvents({ ...call, body })
        : replyWithChunks({ ...call, body } as RouteCall<typeof body, typeof call.query>)
    },
  }),
  route({
    method: 'GET',
    path: '/tanstack/:agent',
    action: 'follow',
    summary:
      'For TanStack AI since 0.23: streams a run from its start or from a position, or without `runId` reads the session.',
    query: {
      format,
      threadId: optionalText('The session.'),
      runId: optionalText('The run to join.'),
      offset: optionalText('The last event id that the client received; -1 for none.'),
    },
    headers: { 'Last-Event-ID': 'Same as `offset`.' },
    replies: { 200: Hydrated },
    streams: true,
    handle: call => readOrJoin(call),
  }),
]
