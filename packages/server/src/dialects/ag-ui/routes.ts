// Clients of AG-UI: what `HttpAgent` posts, its events, and what our `resumable` agent asks besides.

import { AgUiEncoder, type AgUiEvent } from '@millrace/dialects/ag-ui'
import { clientRequestOf, RunAgentInputSchema } from '@millrace/dialects/ag-ui/schemas'
import type { Entry } from '@millrace/protocol'
import * as z from 'zod'
import { json } from '../../http/reply.ts'
import { type RouteCall, RUN_ID, route, SESSION_ID } from '../../routing/route.ts'
import { anyText } from '../../routing/schemas.ts'
import { programNamed } from '../../runs/program.ts'
import { currentRunId, knownRun, stopRun } from '../../runs/target-run.ts'
import { eventPositionIn } from '../run-stream/event-position.ts'
import { withStreamSlot } from '../run-stream/reply-with-turn.ts'
import { type DialectFormat, streamRun } from '../run-stream/run-stream.ts'
import { dataOf, stopCancelledRun } from '../turn/run-agent-input.ts'
import { type AcceptedTurn, takeTurn } from '../turn/turn.ts'
import { type ClientState, earlierMessages } from './earlier-messages.ts'

const dialectFormat: DialectFormat<AgUiEvent> = {
  format: 'sse',
  framing: {
    contentType: 'text/event-stream; charset=utf-8',
    heartbeat: () => Buffer.from(': keep-alive\n\n'),
    // Its clients take the end of a connection for the end of a run: only one that breaks is none.
    fail: () => undefined,
  },
  write: event => `data: ${JSON.stringify(event)}\n\n`,
  // Its clients pass over what has no data; ours knows then that it has all up to there.
  mark: cursor => `id: ${cursor}\n\n`,
}

const Stopped = z.object({ stopped: z.boolean() })

/** The routes that clients of AG-UI ask. */
export const agUi = [
  route({
    method: 'POST',
    path: '/ag-ui/:agent',
    action: 'run',
    summary: 'For `HttpAgent` of AG-UI: says something, answers what waits, or asks for another answer; gives events.',
    body: RunAgentInputSchema,
    streams: true,
    gives: { ...SESSION_ID, ...RUN_ID },
    handle: async call => {
      const { services, params, body } = call
      const { threadId, runId, parentRunId } = body
      const program = programNamed(services, params['agent'] as string)
      const ask = { sessionId: threadId, program, posted: clientRequestOf(body), runId, data: dataOf(body) }
      return withStreamSlot(call, async release => {
        const taken = (await stopCancelledRun(call, body, program)) ?? (await takeTurn(call, ask))
        const echo = { threadId, runId, ...(parentRunId !== undefined && { parentRunId }) }
        const results = new Set(body.messages.flatMap(({ toolCallId }) => toolCallId ?? []))
        const encoder = new AgUiEncoder({ runId: taken.run.runId, echo, results })
        return eventsReply(call, { ...taken, release }, encoder, body)
      })
    },
  }),
  route({
    method: 'GET',
    path: '/ag-ui/:agent/:sessionId/stream',
    action: 'follow',
    summary: 'For AG-UI: the run that is under way, or else the last, from its start or from a place on; 204 for none.',
    query: {
      run: anyText('Which run; the one that is under way, or else the last, if nothing is said.'),
      as: anyText('What the client calls the run.'),
      after: anyText('The `id` that came last, for who goes on just there.'),
    },
    streams: true,
    gives: { ...SESSION_ID, ...RUN_ID },
    handle: async call => {
      const { services, params, caller, query } = call
      const sessionId = params['sessionId'] as string
      programNamed(services, params['agent'] as string)
      const after = eventPositionIn('after', query.after)
      const identity = await services.manager.getInfo(sessionId)
      // Who looks for what may not be there is told the same of what is somebody else's.
      if (identity === null || identity.principal !== caller.owner) return { status: 204, headers: {}, body: undefined }
      const runId = query.run ?? currentRunId(identity.ticket)
      if (runId === undefined) return { status: 204, headers: {}, body: undefined }
      const run = await knownRun(services, sessionId, runId)
      const echo = { threadId: sessionId, runId: query.as ?? runId }
      const encoder = new AgUiEncoder({ runId, echo, isContinued: after !== undefined })
      return eventsReply(call, { run, caller, identity, action: call.action, after }, encoder, undefined)
    },
  }),
  route({
    method: 'POST',
    path: '/ag-ui/:agent/:sessionId/stop',
    action: 'stop',
    summary: 'For AG-UI: asks the run that is under way to stop.',
    replies: { 200: Stopped },
    handle: async ({ services, caller, params }) => {
      const sessionId = params['sessionId'] as string
      programNamed(services, params['agent'] as string)
      const { stopped } = await stopRun(services, caller, sessionId)
      return json(200, { stopped })
    },
  }),
]

/** A run in events, with what its client has to know before. */
function eventsReply(
  call: RouteCall,
  { caller, ...taken }: AcceptedTurn & { readonly release?: () => void },
  encoder: AgUiEncoder,
  had: ClientState,
) {
  const { run, after } = taken
  const { manager } = call.services
  const before = (entry: Entry) => {
    const { chunk, sequence: at, origin } = entry
    if (chunk.type !== 'run-started' || origin.runId !== run.runId) return undefined
    const about = { sessionId: run.sessionId, at, after: after?.sequence, had }
    return earlierMessages(manager, about).then(found => found && encoder.follows(found))
  }
  return streamRun(call, caller, { ...taken, encoder, dialectFormat, before })
}
