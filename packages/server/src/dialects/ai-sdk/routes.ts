// Routes for `useChat` of the AI SDK: its requests and its UI message stream.

import { aiSdkDialect, type UIMessageChunk, uiMessagesOf } from '@millrace/dialects/ai-sdk'
import {
  type ChatRequest,
  ChatRequestSchema,
  clientRequestOf,
  UIMessageSchema,
} from '@millrace/dialects/ai-sdk/schemas'
import type { Json } from '@millrace/protocol'
import type { Run } from '@millrace/runtime'
import * as z from 'zod'
import { json } from '../../http/reply.ts'
import { type RouteCall, RUN_ID, route, SESSION_ID } from '../../routing/route.ts'
import { optionalName, optionalText, StopBody, Stopped } from '../../routing/schemas.ts'
import { programNamed, sessionOf } from '../../runs/program.ts'
import { stopRun } from '../../runs/target-run.ts'
import { MAX_MESSAGES, messagePageOf } from '../../sessions/message-page.ts'
import { assertSameSession, findSession } from '../../sessions/session-access.ts'
import { eventPositionIn } from '../run-stream/event-position.ts'
import { withInlineBlobs } from '../run-stream/inline-blobs.ts'
import { replyWithRequestedRun } from '../run-stream/reply-with-requested-run.ts'
import { replyWithRun } from '../run-stream/reply-with-run.ts'
import type { DialectFormat } from '../run-stream/run-stream.ts'

const dialectFormat: DialectFormat<UIMessageChunk> = {
  format: 'sse',
  headers: { 'x-vercel-ai-ui-message-stream': 'v1' },
  framing: {
    contentType: 'text/event-stream; charset=utf-8',
    heartbeat: () => Buffer.from(': keep-alive\n\n'),
    // Clients reconnect after a broken connection, and treat any other end as the end of the message.
    fail: () => undefined,
  },
  write: event => `data: ${JSON.stringify(event)}\n\n`,
  // Not an event: clients that do not resume ignore it.
  mark: cursor => `id: ${cursor}\n\n`,
  closing: 'data: [DONE]\n\n',
}

/** The routes for `useChat`, and for the transport of Millrace. */
export const aiSdk = [
  route({
    method: 'POST',
    path: '/ai-sdk/:agent',
    action: 'run',
    summary:
      'For `useChat` of the AI SDK: sends a message, answers pending requests, or regenerates. Replies with a UI message stream.',
    body: ChatRequestSchema,
    streams: true,
    replyHeaders: { ...SESSION_ID, ...RUN_ID },
    handle: call => {
      const { services, params, body } = call
      const program = programNamed(services, params['agent'] as string)
      const turnRequest = { sessionId: body.id, program, posted: clientRequestOf(body), data: dataOf(body) }
      return replyWithRequestedRun(call, turnRequest, {
        dialectFormat,
        encoder: ({ run: { runId } }) => aiSdkDialect.encoder({ runId }),
      })
    },
  }),
  route({
    method: 'GET',
    path: '/ai-sdk/:agent/:sessionId/stream',
    action: 'follow',
    summary:
      'For `resume` of `useChat`: streams the active message from its start; 204 if there is none. With `run`, that run, even if it has ended.',
    query: { run: optionalName('The run id from `X-Run-Id`.') },
    headers: { 'Last-Event-ID': 'With `run`: the last `id` that the client received, to resume after it.' },
    streams: true,
    replyHeaders: { ...SESSION_ID, ...RUN_ID },
    otherReplies: { 204: 'No run is active.' },
    handle: call => {
      const { run: named } = call.query
      const sessionId = sessionOf(call)
      const last = named === undefined ? null : call.request.headers.get('last-event-id')
      const encoder = async ({ runId, sessionId: streamId }: Run) =>
        aiSdkDialect.encoder({ runId, answered: await answeredIn(call, streamId) })
      return replyWithRun(call, {
        sessionId,
        named,
        encoder,
        dialectFormat,
        after: eventPositionIn('Last-Event-ID', last),
      })
    },
  }),
  route({
    method: 'GET',
    path: '/ai-sdk/:agent/:sessionId/messages',
    action: 'read',
    summary: 'For `useChat({ messages })`: reads the messages of a session; none if it does not exist.',
    query: {
      messages: optionalText(`\`last:50\`: only the last messages, at most ${MAX_MESSAGES}.`),
      before: optionalText('With `messages`: the messages before this one.'),
    },
    replies: { 200: z.array(UIMessageSchema) },
    handle: async call => {
      const { services, caller, query } = call
      const { manager } = services
      const sessionId = sessionOf(call)
      const info = await findSession(services, caller, sessionId)
      if (info === null) return json(200, [])
      const { streamId } = info
      const { view } = await manager.view(streamId)
      await assertSameSession(manager, info)
      const paged = messagePageOf(view, query)
      const messages = paged.view === undefined ? paged.messages : paged.view.messages
      return json(200, uiMessagesOf({ ...view, messages: await withInlineBlobs(call, streamId, messages) }))
    },
  }),
  route({
    method: 'POST',
    path: '/ai-sdk/:agent/:sessionId/stop',
    action: 'stop',
    summary: 'For transports of the AI SDK: stops a run, by default the open one.',
    body: StopBody,
    replies: { 200: Stopped },
    handle: async call => {
      const { services, caller, body } = call
      return json(200, await stopRun(services, caller, sessionOf(call), body))
    },
  }),
]

/** Client tool calls that have results: a page that resumes must not run them again. */
async function answeredIn({ services }: Pick<RouteCall, 'services'>, streamId: string): Promise<ReadonlySet<string>> {
  const { view } = await services.runtime.view(streamId)
  const answered = new Set<string>()
  for (const { parts } of view.messages) {
    for (const part of parts) {
      if ('toolCallId' in part && part.executor === 'client' && part.state.startsWith('output-'))
        answered.add(part.toolCallId)
    }
  }
  return answered
}

/** The data that an application sends along. */
function dataOf({ id, messages, trigger, messageId, answers, ...rest }: ChatRequest): Json | undefined {
  return Object.keys(rest).length === 0 ? undefined : (rest as Json)
}
