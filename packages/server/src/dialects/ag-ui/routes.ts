// Clients of AG-UI: what `HttpAgent` posts, its events, and what our `resumable` agent asks besides.

import { AgUiEncoder, type AgUiEvent, questionIn } from '@millrace/dialects/ag-ui'
import { postedOf, type RunAgentInput, RunAgentInputSchema } from '@millrace/dialects/ag-ui/schemas'
import type { Entry, Json } from '@millrace/protocol'
import type { Run } from '@millrace/runtime'
import * as z from 'zod'
import { json } from '../../http/reply.ts'
import { type Call, RUN_ID, route, SESSION_ID } from '../../routing/route.ts'
import { anyText } from '../../routing/schemas.ts'
import { type Program, programOf } from '../../runs/program.ts'
import { enter, mayStill } from '../../sessions/session-access.ts'
import { placeIn } from '../run-stream/event-position.ts'
import { withRoom } from '../run-stream/reply-with-turn.ts'
import { spoken, type Tongue } from '../run-stream/run-stream.ts'
import { entrance } from '../turn/caller-in-session.ts'
import { messageNameOf } from '../turn/names.ts'
import { type Taken, take } from '../turn/turn.ts'
import { beforeOf, type Had } from './earlier-messages.ts'

const tongue: Tongue<AgUiEvent> = {
  format: 'sse',
  voice: {
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
      const program = programOf(services, params['agent'] as string)
      const ask = { sessionId: threadId, program, posted: postedOf(body), runId, data: dataOf(body) }
      return withRoom(call, async release => {
        const taken = (await cancelled(call, body, program)) ?? (await take(call, ask))
        const echo = { threadId, runId, ...(parentRunId !== undefined && { parentRunId }) }
        const results = new Set(body.messages.flatMap(({ toolCallId }) => toolCallId ?? []))
        const encoder = new AgUiEncoder({ runId: taken.run.runId, echo, results })
        return said(call, { ...taken, release }, encoder, body)
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
      programOf(services, params['agent'] as string)
      const after = placeIn('after', query.after)
      const entered = await services.manager.getInfo(sessionId)
      // Who looks for what may not be there is told the same of what is somebody else's.
      if (entered === null || entered.principal !== caller.owner) return { status: 204, headers: {}, body: undefined }
      const runId = query.run ?? (await latest(call, sessionId))
      if (runId === undefined) return { status: 204, headers: {}, body: undefined }
      const run = services.runtime.run(sessionId, runId)
      await run.mustBeKnown()
      const echo = { threadId: sessionId, runId: query.as ?? runId }
      const encoder = new AgUiEncoder({ runId, echo, isContinued: after !== undefined })
      return said(call, { run, caller, entered, action: call.action, after }, encoder, undefined)
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
      programOf(services, params['agent'] as string)
      const { ticket } = await enter(services, caller, sessionId)
      const runId = ticket.run?.runId ?? ticket.requests[0]?.runId
      if (runId === undefined) return json(200, { stopped: false })
      const who = { guest: caller.label, principal: caller.owner }
      return json(200, { stopped: await services.runtime.stop(sessionId, runId, who) })
    },
  }),
]

/** A run in events, with what its client has to know before. */
function said(
  call: Call,
  { caller, ...taken }: Taken & { readonly release?: () => void },
  encoder: AgUiEncoder,
  had: Had,
) {
  const { run, after } = taken
  const { manager } = call.services
  const before = (entry: Entry) => {
    const { chunk, sequence: at, origin } = entry
    if (chunk.type !== 'run-started' || origin.runId !== run.runId) return undefined
    const about = { sessionId: run.sessionId, at, after: after?.sequence, had }
    return beforeOf(manager, about).then(found => found && encoder.follows(found))
  }
  return spoken(call, caller, { ...taken, encoder, tongue, before })
}

/** Who does not want to answer a question, and says nothing else either, does not want the run to go on. */
export async function cancelled(
  call: Call,
  { threadId, messages, resume = [] }: RunAgentInput,
  program: Program,
): Promise<Taken | undefined> {
  const unwanted = new Set(
    resume.flatMap(({ status, interruptId }) => (status === 'cancelled' ? (questionIn(interruptId) ?? []) : [])),
  )
  if (unwanted.size === 0) return undefined
  const { services, request } = call
  const caller = await entrance(call, threadId, program)
  const entered = await enter(services, caller, threadId)
  const { view } = await services.runtime.view(threadId)
  const asked = view.interrupts.find(({ interruptId, status }) => status === 'open' && unwanted.has(interruptId))
  const last = messages.at(-1)
  const isNew = last?.role === 'user' && !view.messages.some(({ id }) => id === messageNameOf(last.id))
  if (!asked || isNew) return undefined
  await mayStill(services, request, caller, 'stop', threadId, program)
  await services.runtime.stop(threadId, asked.runId, { guest: caller.label, principal: caller.owner })
  const run: Run = services.runtime.run(threadId, asked.runId)
  return { run, caller, entered, action: 'stop', program, after: { sequence: view.head } }
}

async function latest({ services }: Call, sessionId: string): Promise<string | undefined> {
  const { view, ticket } = await services.runtime.view(sessionId)
  return ticket.run?.runId ?? ticket.requests[0]?.runId ?? view.runs.at(-1)?.runId
}

/** What an application sends along. */
function dataOf({ context = [], forwardedProps }: RunAgentInput): Json | undefined {
  const isEmpty = typeof forwardedProps === 'object' && Object.keys(forwardedProps ?? {}).length === 0
  const data = {
    ...(context.length > 0 && { context }),
    ...(forwardedProps !== undefined && !isEmpty && { forwardedProps }),
  }
  return Object.keys(data).length === 0 ? undefined : (data as unknown as Json)
}
