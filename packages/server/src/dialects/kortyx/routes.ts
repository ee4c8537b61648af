// Pages of Kortyx: what their `useChat` and `streamChatFromRoute` post, and its chunks as events, or as one reply of JSON.

import type { ClientRequest } from '@millrace/dialects'
import { kortyxDialect, type StreamChunk } from '@millrace/dialects/kortyx'
import { type ChatRequest, ChatRequestSchema, clientRequestOf, resumeIn } from '@millrace/dialects/kortyx/schemas'
import type { Json } from '@millrace/protocol'
import type { Program } from '../../auth/authorize.ts'
import { errorResponseOf } from '../../errors/refusal.ts'
import { json, type Reply } from '../../http/reply.ts'
import { type RouteCall, RUN_ID, route, SESSION_ID } from '../../routing/route.ts'
import { programNamed } from '../../runs/program.ts'
import { replyWithTurn } from '../run-stream/reply-with-turn.ts'
import type { DialectFormat } from '../run-stream/run-stream.ts'
import { callerInSession } from '../turn/caller-in-session.ts'
import { userMessagesIn } from '../turn/transcript.ts'
import type { TurnRequest } from '../turn/turn.ts'
import { BufferedStream, bufferedReply } from './buffered-reply.ts'
import { answerByToken, tokenFor } from './resume-token.ts'

const written = (chunk: StreamChunk): string => `data: ${JSON.stringify(chunk)}\n\n`

const CLOSING = 'data: [DONE]\n\n'

const dialectFormat: DialectFormat<StreamChunk> = {
  format: 'sse',
  headers: { 'cache-control': 'no-cache, no-transform' },
  merges: true,
  framing: {
    // Its clients read no more than this of it, and nothing but line feeds between events.
    contentType: 'text/event-stream',
    heartbeat: () => Buffer.from(': keep-alive\n\n'),
    // Its clients take a stream that just ends for one that is whole. What stands for no chunk of the run says nothing of how that stands.
    fail: ({ error }) =>
      Buffer.from(
        `${written({ type: 'error', message: error.message, millrace: null })}${written({ type: 'done', millrace: null })}${CLOSING}`,
      ),
  },
  write: written,
  closing: CLOSING,
}

/** The route that clients of Kortyx ask. */
export const kortyx = [
  route({
    method: 'POST',
    path: '/kortyx/:agent',
    action: 'run',
    summary:
      'For `useChat` of Kortyx: says something, or resumes what waits by its token; gives a Kortyx stream, or with `stream: false` all of it as JSON.',
    body: ChatRequestSchema,
    replies: { 200: BufferedStream },
    streams: true,
    gives: { ...SESSION_ID, ...RUN_ID },
    handle: async call => {
      try {
        return await answer(call)
      } catch (error) {
        return refusal(error)
      }
    },
  }),
]

async function answer(call: RouteCall<ChatRequest>): Promise<Reply> {
  const { services, params, body } = call
  // `useChat` posts an empty one where none was chosen.
  const program = programNamed(services, body.workflowId?.trim() || (params['agent'] as string))
  const sessionId = body.sessionId?.trim() || crypto.randomUUID()
  const resume = resumeIn(body)
  const posted: ClientRequest = {
    ...clientRequestOf(body),
    ...((await isAlone(call, sessionId, program)) && { isIncremental: true }),
  }
  const ask: TurnRequest = { sessionId, program, posted, data: dataOf(body) }
  const asked =
    resume === undefined
      ? ask
      : { ...ask, posted: { ...posted, ...(await answerByToken(call, ask, resume)) } satisfies TurnRequest['posted'] }
  const turnIndex = posted.userMessages.length
  const encoder = () =>
    kortyxDialect.encoder({ sessionId, turnIndex, tokenOf: requestId => tokenFor(sessionId, requestId) })
  return body.stream === false
    ? bufferedReply(call, asked, encoder())
    : replyWithTurn(call, asked, { dialectFormat, encoder })
}

/** Whether a page keeps no history: it posts one message, without an id, where more was said before. A first message that comes again is a request that was sent again. */
async function isAlone(call: RouteCall<ChatRequest>, sessionId: string, program: Program): Promise<boolean> {
  const { services, body } = call
  const [first, second] = body.messages
  if (first?.id !== undefined || second !== undefined) return false
  const { owner } = await callerInSession(call, sessionId, program)
  const info = await services.manager.getInfo(sessionId)
  if (info === null || info.principal !== owner) return false
  return userMessagesIn((await services.runtime.view(sessionId)).view).length > 1
}

/** What an application sends along. */
function dataOf({
  sessionId,
  workflowId,
  messages,
  stream,
  context,
  regenerate,
  ...rest
}: ChatRequest): Json | undefined {
  const given = { ...rest, ...(context && Object.keys(context).length > 0 && { context }) }
  return Object.keys(given).length === 0 ? undefined : (given as Json)
}

/** A refusal as its clients read one: they show `error`, where that is a text. */
function refusal(error: unknown): Reply {
  const { status, error: told, headers, isServerFault } = errorResponseOf(error)
  if (isServerFault) throw error
  const { message, code, retryable } = told
  return json(status, { error: message, code, retryable }, headers)
}
