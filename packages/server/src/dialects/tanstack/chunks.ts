// TanStack AI clients up to 0.2: they read chunks as Server-Sent Events or NDJSON, and cannot resume a broken stream.

import { type TanstackChunk, tanstackDialect } from '@millrace/dialects/tanstack'
import { type ChatRequest, clientRequestOf, dataOf } from '@millrace/dialects/tanstack/schemas'
import { messageIdOf } from '@millrace/protocol'
import { HttpError } from '../../errors/http-error.ts'
import { negotiate } from '../../http/accept.ts'
import type { Reply } from '../../http/reply.ts'
import type { RouteCall } from '../../routing/route.ts'
import type { Services } from '../../routing/services.ts'
import { programNamed } from '../../runs/program.ts'
import { CONTENT_TYPES, type Format } from '../../stream/format.ts'
import { type AcceptedTurn, handleClientRequest } from '../client-request/handle-client-request.ts'
import { checkSessionId } from '../client-request/names.ts'
import { withStreamSlot } from '../run-stream/reply-with-requested-run.ts'
import { type DialectFormat, streamRun } from '../run-stream/run-stream.ts'

/** Query parameters, since these clients set no `Accept` header. */
export interface ChunksQuery {
  readonly format?: Format | undefined
  readonly content?: 'cumulative' | 'empty' | undefined
}

/** Performs a client's request and streams its run as chunks. */
export async function replyWithChunks(call: RouteCall<ChatRequest, ChunksQuery>): Promise<Reply> {
  const { services, params, body, query, request } = call
  const format = query.format ?? negotiate(request.headers.get('accept'), ['sse', 'ndjson'])
  const sessionId = body.data?.conversationId ?? body.conversationId
  if (sessionId === undefined)
    throw new HttpError('body_invalid', 'body.data.conversationId: expected the id of the conversation, as a string')
  const agent = params['agent'] as string
  const turnRequest = {
    sessionId: checkSessionId(sessionId),
    program: programNamed(services, agent),
    posted: clientRequestOf(body),
    data: dataOf(body),
  }
  const results = new Set(body.messages.flatMap(({ toolCallId }) => toolCallId ?? []))
  const encoder = tanstackDialect.encoder({ content: query.content ?? body.content, model: agent, results })
  return withStreamSlot(call, async release => {
    const { caller, ...turn } = await handleClientRequest(call, turnRequest)
    const after = (await endIfComplete(services, turn, body)) ?? turn.after
    return streamRun(call, caller, { ...turn, after, encoder, dialectFormat: dialectFormatOf(format), release })
  })
}

/**
 * The position after a run that the client already shows completely; otherwise undefined. The client repeats its request for each client tool call
 * of a message, although the first request had all results. A run that the client shows only in part is sent again (law 7).
 */
async function endIfComplete(
  { runtime }: Services,
  { run, action }: Pick<AcceptedTurn, 'run' | 'action'>,
  { messages }: ChatRequest,
): Promise<AcceptedTurn['after']> {
  // The client creates a message for each request, even if the reply is empty.
  const last = messages.findLast(({ role, content }) => role !== 'assistant' || content)
  const isAnswer = last?.role === 'assistant' && last['toolCalls'] === undefined
  if (action !== 'answer' || !isAnswer || typeof last.content !== 'string') return undefined
  const { view } = await runtime.view(run.sessionId)
  const { finishedAt } = view.runs.find(({ runId }) => runId === run.runId) ?? {}
  if (finishedAt === undefined) return undefined
  const { parts = [] } = view.messages.find(({ id }) => id === messageIdOf(run.runId, run.runId)) ?? {}
  const lastParts = parts.slice(parts.findLastIndex(part => 'toolCallId' in part) + 1)
  const text = lastParts.map(part => (part.type === 'text' && 'text' in part ? part.text : '')).join('')
  return text !== '' && last.content.endsWith(text) ? { sequence: view.head } : undefined
}

function dialectFormatOf(format: Format): DialectFormat<TanstackChunk> {
  let hasFailed = false
  return {
    format,
    framing: {
      contentType: CONTENT_TYPES[format],
      // Clients warn about comments, and skip empty lines.
      heartbeat: () => Buffer.from('\n'),
      // Clients treat any end as the end of the message, except a broken connection.
      fail: () => undefined,
    },
    write: event => {
      hasFailed ||= event.type === 'error'
      return format === 'sse' ? `data: ${JSON.stringify(event)}\n\n` : `${JSON.stringify(event)}\n`
    },
    // Nothing may follow an error.
    get closing() {
      return hasFailed || format === 'ndjson' ? '' : 'data: [DONE]\n\n'
    },
  }
}
