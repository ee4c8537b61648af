// Pages of MUI X Chat: what their adapters ask for, and its chunks in envelopes.

import { chatMessagesOf, type MuiEvent, muiDialect, PASSED } from '@millrace/dialects/mui'
import { type ChatRequest, ChatRequestSchema, clientRequestOf, HistorySchema } from '@millrace/dialects/mui/schemas'
import { type Json, messageIdOf, type View } from '@millrace/protocol'
import { json } from '../../http/reply.ts'
import { RUN_ID, route, SESSION_ID } from '../../routing/route.ts'
import { anyText, someName } from '../../routing/schemas.ts'
import { programNamed, sessionOf } from '../../runs/program.ts'
import { activeRunId } from '../../runs/target-run.ts'
import { MAX_MESSAGES, messagePageOf } from '../../sessions/message-page.ts'
import { assertSameSession } from '../../sessions/session-access.ts'
import { eventPositionIn } from '../run-stream/event-position.ts'
import { withInlineBlobs } from '../run-stream/inline-blobs.ts'
import { replyWithRun } from '../run-stream/reply-with-run.ts'
import { replyWithTurn } from '../run-stream/reply-with-turn.ts'
import type { DialectFormat } from '../run-stream/run-stream.ts'

const dialectFormat: DialectFormat<MuiEvent> = {
  format: 'sse',
  framing: {
    contentType: 'text/event-stream; charset=utf-8',
    heartbeat: () => Buffer.from(': keep-alive\n\n'),
    // Who reads comes back to a connection that broke.
    fail: () => undefined,
  },
  write: (chunk, eventId) => `data: ${JSON.stringify({ eventId, chunk })}\n\n`,
  // A chunk that its runtime passes over; the id is where to go on.
  mark: cursor => `id: ${cursor}\ndata: {"eventId":"${cursor}","chunk":{"type":"${PASSED}"}}\n\n`,
}

/** How many messages are on a page of history, if nothing is said. */
const PAGE = 'last:50'

/** The routes that an adapter of MUI X Chat asks. */
export const mui = [
  route({
    method: 'POST',
    path: '/mui/:agent',
    action: 'run',
    summary: 'For MUI X Chat: says something, regenerates, or answers what waits; gives its chunks, in envelopes.',
    body: ChatRequestSchema,
    streams: true,
    gives: { ...SESSION_ID, ...RUN_ID },
    handle: call => {
      const { services, params, body } = call
      const program = programNamed(services, params['agent'] as string)
      const ask = { sessionId: body.conversationId, program, posted: clientRequestOf(body), data: dataOf(body) }
      return replyWithTurn(call, ask, { dialectFormat, encoder: ({ runId }) => muiDialect.encoder({ runId }) })
    },
  }),
  route({
    method: 'GET',
    path: '/mui/:agent/:sessionId/stream',
    action: 'follow',
    summary:
      'For MUI X Chat: the reply that is under way, from its start or from a place on; 204 where none is. With a run, that one, also when it has ended.',
    query: {
      run: someName('The run, as `X-Run-Id` named it.'),
      after: anyText('Only what follows this `id` is said, as with `Last-Event-ID`.'),
    },
    headers: { 'Last-Event-ID': 'Only what follows this `id` is said.' },
    streams: true,
    gives: { ...SESSION_ID, ...RUN_ID },
    others: { 204: 'Nothing is under way.' },
    handle: async call => {
      const { query, request } = call
      const after = eventPositionIn('after', query.after ?? request.headers.get('last-event-id'))
      const encoder = (runId: string) => muiDialect.encoder({ runId })
      return replyWithRun(call, { sessionId: sessionOf(call), named: query.run, encoder, dialectFormat, after })
    },
  }),
  route({
    method: 'GET',
    path: '/mui/:agent/:sessionId/messages',
    action: 'read',
    summary: 'For MUI X Chat: the last messages of a session, or those before; none where there is no such session.',
    query: {
      messages: anyText(`\`${PAGE}\`: only so many messages, at most ${MAX_MESSAGES}.`),
      before: anyText('The `cursor` of another page: those before it.'),
    },
    replies: { 200: HistorySchema },
    handle: async call => {
      const { services, caller, query } = call
      const { manager } = services
      const sessionId = sessionOf(call)
      const info = await manager.getInfo(sessionId)
      if (info === null || info.principal !== caller.owner) return json(200, { messages: [], hasMore: false })
      const { view, ticket } = await manager.view(sessionId)
      await assertSameSession(manager, sessionId, info)
      const { page, ...paged } = messagePageOf(view, { ...query, messages: query.messages ?? PAGE })
      const shown = paged.view?.messages ?? ('messages' in paged ? paged.messages : [])
      const messages = await withInlineBlobs(manager, sessionId, shown)
      const open = activeRunId(ticket)
      return json(200, {
        messages: chatMessagesOf({ ...view, messages }),
        hasMore: page?.hasMore ?? false,
        ...(page?.before !== undefined && { cursor: page.before }),
        ...(open !== undefined && { run: open }),
        answers: answersIn(view, new Set(shown.map(({ id }) => id))),
      })
    },
  }),
]

/** Which message answers what somebody said. */
function answersIn({ requests }: Pick<View, 'requests'>, shown: ReadonlySet<string>): Record<string, string> {
  const answers = requests.flatMap(({ message, runId, status }) =>
    message && status === 'started' && shown.has(message.messageId)
      ? [[message.messageId, messageIdOf(runId, runId)] as const]
      : [],
  )
  return Object.fromEntries(answers)
}

/** What an application sends along. */
function dataOf({ conversationId, message, regenerate, answers, ...rest }: ChatRequest): Json | undefined {
  return Object.keys(rest).length === 0 ? undefined : (rest as Json)
}
