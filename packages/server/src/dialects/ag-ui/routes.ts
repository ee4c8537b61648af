// Routes for AG-UI clients: requests of `HttpAgent`, and those that Millrace's `resumable` agent adds.

import { AgUiEncoder, type AgUiEvent } from '@millrace/dialects/ag-ui'
import { clientRequestOf, RunAgentInputSchema } from '@millrace/dialects/ag-ui/schemas'
import type { Entry } from '@millrace/protocol'
import * as z from 'zod'
import { json } from '../../http/reply.ts'
import { type RouteCall, RUN_ID, route, SESSION_ID } from '../../routing/route.ts'
import { optionalText } from '../../routing/schemas.ts'
import { programNamed } from '../../runs/program.ts'
import { currentRunId, knownRun, stopRun } from '../../runs/target-run.ts'
import { findSession } from '../../sessions/session-access.ts'
import { type AcceptedTurn, handleClientRequest } from '../client-request/handle-client-request.ts'
import { dataOf, stopCancelledRun } from '../client-request/run-agent-input.ts'
import { eventPositionIn } from '../run-stream/event-position.ts'
import { whileStreaming } from '../run-stream/inline-blobs.ts'
import { withStreamSlot } from '../run-stream/reply-with-requested-run.ts'
import { type DialectFormat, streamRun } from '../run-stream/run-stream.ts'
import { type ClientState, earlierMessages } from './earlier-messages.ts'

const dialectFormat: DialectFormat<AgUiEvent> = {
  format: 'sse',
  framing: {
    contentType: 'text/event-stream; charset=utf-8',
    heartbeat: () => Buffer.from(': keep-alive\n\n'),
    // Clients treat the end of the connection as the end of the run. Only a broken connection is not mistaken for one.
    fail: () => undefined,
  },
  write: event => `data: ${JSON.stringify(event)}\n\n`,
  // Clients ignore events without data. Millrace's own client learns the position to resume from.
  mark: cursor => `id: ${cursor}\n\n`,
}

const Stopped = z.object({ stopped: z.boolean() })

/** The routes for AG-UI clients. */
export const agUi = [
  route({
    method: 'POST',
    path: '/ag-ui/:agent',
    action: 'run',
    summary:
      'For `HttpAgent` of AG-UI: sends a message, answers pending requests, or regenerates. Replies with events.',
    body: RunAgentInputSchema,
    streams: true,
    replyHeaders: { ...SESSION_ID, ...RUN_ID },
    handle: async call => {
      const { services, params, body } = call
      const { threadId, runId, parentRunId } = body
      const program = programNamed(services, params['agent'] as string)
      const turnRequest = { sessionId: threadId, program, posted: clientRequestOf(body), runId, data: dataOf(body) }
      return withStreamSlot(call, async release => {
        const turn = (await stopCancelledRun(call, body, program)) ?? (await handleClientRequest(call, turnRequest))
        const echo = { threadId, runId, ...(parentRunId !== undefined && { parentRunId }) }
        const results = new Set(body.messages.flatMap(({ toolCallId }) => toolCallId ?? []))
        const encoder = new AgUiEncoder({ runId: turn.run.runId, echo, results })
        return eventsReply(call, { ...turn, release }, encoder, body)
      })
    },
  }),
  route({
    method: 'GET',
    path: '/ag-ui/:agent/:sessionId/stream',
    action: 'follow',
    summary:
      'For AG-UI: streams the active run, or else the last one, from its start or from a position. 204 if there is none.',
    query: {
      run: optionalText('The run id. Default: the active run, or else the last one.'),
      as: optionalText('The client’s own id of the run, used in events.'),
      after: optionalText('The last `id` that the client received, to resume after it.'),
    },
    streams: true,
    replyHeaders: { ...SESSION_ID, ...RUN_ID },
    handle: async call => {
      const { services, params, caller, query } = call
      const sessionId = params['sessionId'] as string
      programNamed(services, params['agent'] as string)
      const after = eventPositionIn('after', query.after)
      const identity = await findSession(services, caller, sessionId)
      if (identity === null) return { status: 204, headers: {}, body: undefined }
      const runId = query.run ?? currentRunId(identity.ticket)
      if (runId === undefined) return { status: 204, headers: {}, body: undefined }
      const run = await knownRun(services, identity, runId)
      const echo = { threadId: sessionId, runId: query.as ?? runId }
      const encoder = new AgUiEncoder({ runId, echo, isContinued: after !== undefined })
      return eventsReply(call, { run, caller, identity, action: call.action, after }, encoder, undefined)
    },
  }),
  route({
    method: 'POST',
    path: '/ag-ui/:agent/:sessionId/stop',
    action: 'stop',
    summary: 'For AG-UI: stops the active run.',
    replies: { 200: Stopped },
    handle: async ({ services, caller, params }) => {
      const sessionId = params['sessionId'] as string
      programNamed(services, params['agent'] as string)
      const { stopped } = await stopRun(services, caller, sessionId)
      return json(200, { stopped })
    },
  }),
]

/** Streams a run as events, preceded by the messages and state that the client lacks. */
function eventsReply(
  call: RouteCall,
  { caller, ...turn }: AcceptedTurn & { readonly release?: () => void },
  encoder: AgUiEncoder,
  clientState: ClientState,
) {
  const { run, after } = turn
  const beforeEntry = (entry: Entry) => {
    const { chunk, sequence: at, origin } = entry
    if (chunk.type !== 'run-started' || origin.runId !== run.runId) return undefined
    const position = { streamId: run.sessionId, at, after: after?.sequence, clientState }
    return whileStreaming(call, counted => earlierMessages(counted, position)).then(
      history => history && encoder.setBefore(history),
    )
  }
  return streamRun(call, caller, { ...turn, encoder, dialectFormat, beforeEntry })
}
