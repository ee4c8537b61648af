// Clients of TanStack AI, of both protocols: which one a client speaks is told by what it sends.

import { isRunAgentInput, TanstackRequestSchema } from '@millrace/dialects/tanstack/schemas'
import * as z from 'zod'
import { type RouteCall, RUN_ID, route, SESSION_ID } from '../../routing/route.ts'
import { anyText } from '../../routing/schemas.ts'
import { replyWithChunks } from './chunks.ts'
import { readOrJoin, replyWithEvents } from './events.ts'

const format = z
  .enum(['sse', 'ndjson'])
  .optional()
  .meta({ description: 'How the stream is written, where `Accept` does not say it.' })

const Hydrated = z.object({
  messages: z.array(z.looseObject({ id: z.string(), role: z.string(), parts: z.array(z.looseObject({})) })),
  activeRun: z.object({ runId: z.string() }).nullable(),
  interrupts: z.object({ runId: z.string(), pending: z.array(z.looseObject({ id: z.string() })) }).nullable(),
})

/** The routes that clients of TanStack AI ask. */
export const tanstack = [
  route({
    method: 'POST',
    path: '/tanstack/:agent',
    action: 'run',
    summary:
      'For TanStack AI: says something, answers what waits, or regenerates; gives chunks to its clients up to 0.2, and events of AG-UI to those since 0.10.',
    body: TanstackRequestSchema,
    query: {
      format,
      content: z
        .enum(['cumulative', 'empty'])
        .optional()
        .meta({ description: 'What `content` holds of chunks: all of the text so far, or nothing.' }),
    },
    headers: { 'Last-Event-ID': 'The id of the last event that was seen: what follows it is given.' },
    streams: true,
    gives: { ...SESSION_ID, ...RUN_ID },
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
    summary: 'For TanStack AI since 0.23: a run, from its start or a place on; or, without a run, all of a session.',
    query: {
      format,
      threadId: anyText('The session.'),
      runId: anyText('The run to join.'),
      offset: anyText('The id of the last event that was seen; -1 for none.'),
    },
    headers: { 'Last-Event-ID': 'The same as `offset`.' },
    replies: { 200: Hydrated },
    streams: true,
    handle: call => readOrJoin(call),
  }),
]
