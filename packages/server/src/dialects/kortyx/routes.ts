// The route for Kortyx pages: requests of `useChat` and `streamChatFromRoute`, and Kortyx chunks as events or as one JSON reply.

import type { ClientRequest } from '@millrace/dialects'
import { kortyxDialect, type StreamChunk } from '@millrace/dialects/kortyx'
import { type ChatRequest, ChatRequestSchema, clientRequestOf, resumeIn } from '@millrace/dialects/kortyx/schemas'
import type { Json } from '@millrace/protocol'
import type { Program } from '../../auth/authorize.ts'
import { errorResponseOf } from '../../errors/http-error.ts'
import { json, type Reply } from '../../http/reply.ts'
import { type RouteCall, RUN_ID, route, SESSION_ID } from '../../routing/route.ts'
import { programNamed } from '../../runs/program.ts'
import { findSession } from '../../sessions/session-access.ts'
import { callerInSession } from '../client-request/caller-in-session.ts'
import type { AcceptedTurn, TurnRequest } from '../client-request/handle-client-request.ts'
import { userMessagesIn } from '../client-request/transcript.ts'
import { replyWithRequestedRun } from '../run-stream/reply-with-requested-run.ts'
import type { DialectFormat } from '../run-stream/run-stream.ts'
import { BufferedStream, bufferedReply } from './buffered-reply.ts'
import { answerByToken, tokenFor } from './resume-token.ts'

const eventOf = (chunk: StreamChunk): string => `data: ${JSON.stringify(chunk)}\n\n`

const CLOSING = 'data: [DONE]\n\n'

const dialectFormat: DialectFormat<StreamChunk> = {
  format: 'sse',
  headers: { 'cache-control': 'no-cache, no-transform' },
  framing: {
    // Clients accept exactly this content type, and only line feeds between events.
    contentType: 'text/event-stream',
    heartbeat: () => Buffer.from(': keep-alive\n\n'),
    // Clients treat a stream that just ends as complete, so an error is sent as chunks. `millrace: null` marks chunks that say nothing about the run.
    fail: ({ error }) =>
      Buffer.from(
        `${eventOf({ type: 'error', message: error.message, millrace: null })}${eventOf({ type: 'done', millrace: null })}${CLOSING}`,
      ),
  },
  write: eventOf,
  closing: CLOSING,
}

/** The route for Kortyx clients. */
export const kortyx = [
  route({
    method: 'POST',
    path: '/kortyx/:agent',
    action: 'run',
    summary:
      'For `useChat` of Kortyx: sends a message, or answers a pending request by its token. Replies with a Kortyx stream, or with `stream: false` with all of it as JSON.',
    body: ChatRequestSchema,
    replies: { 200: BufferedStream },
    streams: true,
    replyHeaders: { ...SESSION_ID, ...RUN_ID },
    handle: async call => {
      try {
        return await replyTo(call)
      } catch (error) {
        return errorReplyOf(error)
      }
    },
  }),
]

async function replyTo(call: RouteCall<ChatRequest>): Promise<Reply> {
  const { services, params, body } = call
  // `useChat` posts an empty string if no workflow is chosen.
  const program = programNamed(services, body.workflowId?.trim() || (params['agent'] as string))
  const sessionId = body.sessionId?.trim() || crypto.randomUUID()
  const resume = resumeIn(body)
  const posted: ClientRequest = {
    ...clientRequestOf(body),
    ...((await isWithoutHistory(call, sessionId, program)) && { isIncremental: true }),
  }
  const turnRequest: TurnRequest = { sessionId, program, posted, data: dataOf(body) }
  const turnWithAnswers =
    resume === undefined
      ? turnRequest
      : {
          ...turnRequest,
          posted: { ...posted, ...(await answerByToken(call, turnRequest, resume)) } satisfies TurnRequest['posted'],
        }
  const turnIndex = posted.userMessages.length
  const encoder = ({ identity }: AcceptedTurn) =>
    kortyxDialect.encoder({ sessionId, turnIndex, tokenOf: requestId => tokenFor(identity, sessionId, requestId) })
  return body.stream === false
    ? bufferedReply(call, turnWithAnswers, encoder)
    : replyWithRequestedRun(call, turnWithAnswers, { dialectFormat, encoder })
}

/** Whether a page keeps no history: it posts one message without an id in a session that has more. In a new session that is a repeated request. */
async function isWithoutHistory(call: RouteCall<ChatRequest>, sessionId: string, program: Program): Promise<boolean> {
  const { services, body } = call
  const [first, second] = body.messages
  if (first?.id !== undefined || second !== undefined) return false
  const info = await findSession(services, await callerInSession(call, sessionId, program), sessionId)
  if (info === null) return false
  return userMessagesIn((await services.runtime.view(info.streamId)).view).length > 1
}

/** The data that an application sends along. */
function dataOf({
  sessionId,
  workflowId,
  messages,
  stream,
  context,
  regenerate,
  ...rest
}: ChatRequest): Json | undefined {
  const data = { ...rest, ...(context && Object.keys(context).length > 0 && { context }) }
  return Object.keys(data).length === 0 ? undefined : (data as Json)
}

/** An error in the form that clients read: `error` is the message. */
function errorReplyOf(error: unknown): Reply {
  const { status, error: reply, headers, isServerFault } = errorResponseOf(error)
  if (isServerFault) throw error
  const { message, code, retryable } = reply
  return json(status, { error: message, code, retryable }, headers)
}
