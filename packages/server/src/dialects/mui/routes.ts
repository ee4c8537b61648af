// Routes for MUI X Chat: requests of its adapters, and its chunks in envelopes.

import { HIDDEN_EXTENSION } from '@millrace/dialects/internal'
import { chatMessagesOf, type MuiEvent, muiDialect } from '@millrace/dialects/mui'
import { type ChatRequest, ChatRequestSchema, clientRequestOf, HistorySchema } from '@millrace/dialects/mui/schemas'
import { type Json, messageIdOf, type View } from '@millrace/protocol'
import type { Run } from '@millrace/runtime'
import { json } from '../../http/reply.ts'
import { RUN_ID, route, SESSION_ID } from '../../routing/route.ts'
import { optionalName, optionalText } from '../../routing/schemas.ts'
import { programNamed, sessionOf } from '../../runs/program.ts'
import { activeRunId } from '../../runs/target-run.ts'
import { MAX_MESSAGES, messagePageOf } from '../../sessions/message-page.ts'
import { assertSameSession, findSession } from '../../sessions/session-access.ts'
import { eventPositionIn } from '../run-stream/event-position.ts'
import { withInlineBlobs } from '../run-stream/inline-blobs.ts'
import { replyWithRequestedRun } from '../run-stream/reply-with-requested-run.ts'
import { replyWithRun } from '../run-stream/reply-with-run.ts'
import type { DialectFormat } from '../run-stream/run-stream.ts'

const dialectFormat: DialectFormat<MuiEvent> = {
  format: 'sse',
  framing: {
    contentType: 'text/event-stream; charset=utf-8',
    heartbeat: () => Buffer.from(': keep-alive\n\n'),
    // Clients reconnect after a broken connection.
    fail: () => undefined,
  },
  write: (chunk, eventId) => `data: ${JSON.stringify({ eventId, chunk })}\n\n`,
  // A chunk that MUI's runtime ignores. Its id is the position to resume from.
  mark: cursor => `id: ${cursor}\ndata: {"eventId":"${cursor}","chunk":{"type":"${HIDDEN_EXTENSION}"}}\n\n`,
}

/** Default page of history. */
const PAGE = 'last:50'

/** The routes for MUI X Chat adapters. */
export const mui = [
  route({
    method: 'POST',
    path: '/mui/:agent',
    action: 'run',
    summary:
      'For MUI X Chat: sends a message, regenerates, or answers pending requests. Replies with chunks in envelopes.',
    body: ChatRequestSchema,
    streams: true,
    replyHeaders: { ...SESSION_ID, ...RUN_ID },
    handle: call => {
      const { services, params, body } = call
      const program = programNamed(services, params['agent'] as string)
      const turnRequest = { sessionId: body.conversationId, program, posted: clientRequestOf(body), data: dataOf(body) }
      return replyWithRequestedRun(call, turnRequest, {
        dialectFormat,
        encoder: ({ run: { runId } }) => muiDialect.encoder({ runId }),
      })
    },
  }),
  route({
    method: 'GET',
    path: '/mui/:agent/:sessionId/stream',
    action: 'follow',
    summary:
      'For MUI X Chat: streams the active reply from its start or from a position; 204 if there is none. With `run`, that run, even if it has ended.',
    query: {
      run: optionalName('The run id from `X-Run-Id`.'),
      after: optionalText('The last `id` that the client received, to resume after it.'),
    },
    headers: { 'Last-Event-ID': 'Same as `after`, if that is missing.' },
    streams: true,
    replyHeaders: { ...SESSION_ID, ...RUN_ID },
    otherReplies: { 204: 'No run is active.' },
    handle: async call => {
      const { query, request } = call
      const after = eventPositionIn('after', query.after ?? request.headers.get('last-event-id'))
      const encoder = ({ runId }: Run) => muiDialect.encoder({ runId })
      return replyWithRun(call, { sessionId: sessionOf(call), named: query.run, encoder, dialectFormat, after })
    },
  }),
  route({
    method: 'GET',
    path: '/mui/:agent/:sessionId/messages',
    action: 'read',
    summary: 'For MUI X Chat: reads the last messages of a session, or older ones; none if it does not exist.',
    query: {
      messages: optionalText(`\`${PAGE}\`: only the last messages, at most ${MAX_MESSAGES}.`),
      before: optionalText('The `cursor` of another page: the messages before it.'),
    },
    replies: { 200: HistorySchema },
    handle: async call => {
      const { services, caller, query } = call
      const { manager } = services
      const sessionId = sessionOf(call)
      const info = await findSession(services, caller, sessionId)
      if (info === null) return json(200, { messages: [], hasMore: false })
      const { streamId } = info
      const { view, ticket } = await manager.view(streamId)
      await assertSameSession(manager, info)
      const { page, ...paged } = messagePageOf(view, { ...query, messages: query.messages ?? PAGE })
      const pageMessages = paged.view?.messages ?? ('messages' in paged ? paged.messages : [])
      const messages = await withInlineBlobs(call, streamId, pageMessages)
      const open = activeRunId(ticket)
      return json(200, {
        messages: chatMessagesOf({ ...view, messages }),
        hasMore: page?.hasMore ?? false,
        ...(page?.before !== undefined && { cursor: page.before }),
        ...(open !== undefined && { run: open }),
        answers: answersIn(view, new Set(pageMessages.map(({ id }) => id))),
      })
    },
  }),
]

/** Ids of the assistant messages that answer the user messages of a page, by user message id. */
function answersIn({ requests }: Pick<View, 'requests'>, pageIds: ReadonlySet<string>): Record<string, string> {
  const answers = requests.flatMap(({ message, runId, status }) =>
    message && status === 'started' && pageIds.has(message.messageId)
      ? [[message.messageId, messageIdOf(runId, runId)] as const]
      : [],
  )
  return Object.fromEntries(answers)
}

/** The data that an application sends along. */
function dataOf({ conversationId, message, regenerate, answers, ...rest }: ChatRequest): Json | undefined {
  return Object.keys(rest).length === 0 ? undefined : (rest as Json)
}
