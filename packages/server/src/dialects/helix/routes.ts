// Routes for clients of Helix Agents, which name the session in the query or the body.

import { randomBytes } from 'node:crypto'
import { snapshotMessagesOf } from '@millrace/dialects/helix'
import {
  ResumeRequestSchema,
  RetryRequestSchema,
  SessionQuerySchema,
  SnapshotSchema,
  StartedSchema,
  StartRequestSchema,
  StatusSchema,
  StopRequestSchema,
  SubmitToolResultSchema,
  SubmittedSchema,
} from '@millrace/dialects/helix/schemas'
import { type StreamInfo, sessionIdOf } from '@millrace/log'
import { type RequestOptions, type Run, RunError } from '@millrace/runtime'
import type { Caller, Program } from '../../auth/authorize.ts'
import { negotiate } from '../../http/accept.ts'
import { json, type Reply } from '../../http/reply.ts'
import { type Route, type RouteCall, RUN_ID, route, SESSION_ID } from '../../routing/route.ts'
import { optionalText } from '../../routing/schemas.ts'
import { omitUndefined } from '../../runs/omit-undefined.ts'
import { programNamed } from '../../runs/program.ts'
import { answererOf, requesterOf } from '../../runs/requester.ts'
import { stopRun } from '../../runs/target-run.ts'
import { assertSameSession, reauthorizeSession, requireSession } from '../../sessions/session-access.ts'
import { checkPosition, existingMessageHeaders, extractResumePosition } from '../../stream/resume-position.ts'
import { callerInSession } from '../client-request/caller-in-session.ts'
import { handleClientRequest } from '../client-request/handle-client-request.ts'
import { checkRunId } from '../client-request/names.ts'
import { withInlineBlobs } from '../run-stream/inline-blobs.ts'
import { HelixStream, type HelixStreamOptions, helixFraming } from './helix-stream.ts'
import { answerFromToolResult, resumeOptionsOf, SUBMIT_STATUSES, sessionStatus } from './requests.ts'

const session = { sessionId: SessionQuerySchema }

/** The routes of a Helix server. */
export const helix = [
  route({
    method: 'POST',
    path: '/helix/:agent/start',
    action: 'run',
    summary:
      'For Helix Agents: sends a message, which starts a run. Replies with its position in the stream, or with `Accept: text/event-stream` with the stream up to its end or pause.',
    body: StartRequestSchema,
    replies: { 202: StartedSchema },
    streams: true,
    replyHeaders: { ...SESSION_ID, ...RUN_ID },
    handle: async call => {
      const { services, params, body } = call
      const { sessionId = randomBytes(16).toString('base64url'), message, messageId, data } = body
      const program = programNamed(services, params['agent'] as string)
      const userMessages = [{ id: messageId, parts: [{ type: 'text', text: message }] }] as const
      const posted = { userMessages, endsWithUserMessage: true, isIncremental: true, answers: [] } as const
      const caller = await callerInSession(call, sessionId, program)
      return replyWithRun(call, caller, () => handleClientRequest(call, { sessionId, program, posted, data }), program)
    },
  }),
  route({
    method: 'POST',
    path: '/helix/:agent/resume',
    action: 'resume',
    summary:
      'For Helix Agents: resumes an interrupted run, or rewinds the session to a checkpoint. If a run is open, follows it instead.',
    body: ResumeRequestSchema,
    replies: { 202: StartedSchema },
    streams: true,
    replyHeaders: { ...SESSION_ID, ...RUN_ID },
    handle: async call => {
      const { services, body } = call
      const { sessionId } = body
      return replyWithReplacement(call, sessionId, async ({ streamId, ticket: { run } }, options) => {
        if (run && body.mode === 'continue') return services.runtime.run(streamId, run.runId)
        return services.runtime.resume(streamId, undefined, { ...resumeOptionsOf(body), ...options })
      })
    },
  }),
  route({
    method: 'POST',
    path: '/helix/:agent/retry',
    action: 'retry',
    summary: 'For Helix Agents: retries the latest turn and replaces its results.',
    body: RetryRequestSchema,
    replies: { 202: StartedSchema },
    streams: true,
    replyHeaders: { ...SESSION_ID, ...RUN_ID },
    handle: async call => {
      const { services, body } = call
      const { sessionId } = body
      return replyWithReplacement(call, sessionId, async ({ streamId, ticket: { run } }, options) => {
        if (run === null) return services.runtime.retry(streamId, undefined, options)
        const { view } = await services.runtime.view(streamId)
        const { cut } = view.requests.find(({ runId }) => runId === run.runId) ?? {}
        // A repeated request joins the retry that is already running.
        if (cut?.reason === 'retry') return services.runtime.run(streamId, run.runId)
        throw new RunError('run_busy', `run ${run.runId} is open: interrupt it first`, { retryable: true })
      })
    },
  }),
  route({
    method: 'GET',
    path: '/helix/:agent/sse',
    action: 'follow',
    summary: 'For Helix Agents: streams a session from a position to the end of its latest run.',
    query: {
      ...session,
      fromSequence: optionalText('Position to start after.'),
    },
    headers: {
      'X-Resume-From-Sequence': 'Same as `fromSequence`, if that is missing.',
      'Last-Event-ID': 'Same as `fromSequence`, if both are missing.',
      'X-Existing-Message-Id': 'A message that the client already has. It must exist in the session.',
    },
    streams: true,
    replyHeaders: { ...SESSION_ID, 'X-Existing-Message-Id': 'Echo of the request header.' },
    handle: async call => {
      const { services, query, request } = call
      const { sessionId, fromSequence } = query
      const caller = await callerOf(call, sessionId)
      const info = await requireSession(services, caller, sessionId)
      const after =
        fromSequence === undefined
          ? extractResumePosition(request.headers)
          : checkPosition('fromSequence', fromSequence)
      negotiate(request.headers.get('accept'), ['sse'])
      const headers = await existingMessageHeaders(services.manager, info, request.headers)
      const release = services.limiter.acquireStream(caller.principal)
      return streamReply(call, caller, { identity: info, after }, release, headers)
    },
  }),
  route({
    method: 'GET',
    path: '/helix/:agent/snapshot',
    action: 'read',
    summary: 'For Helix Agents: reads the messages, state and output of a session, and the position to follow it from.',
    query: session,
    replies: { 200: SnapshotSchema },
    handle: async call => {
      const { services, query } = call
      const { sessionId } = query
      const info = await requireSession(services, await callerOf(call, sessionId), sessionId)
      const { view, ticket, cursor } = await services.manager.view(info.streamId)
      await assertSameSession(services.manager, info)
      const inlined = await withInlineBlobs(call, info.streamId, view.messages)
      const messages = snapshotMessagesOf({ ...view, messages: inlined })
      const { state = null, output = null } = view
      const status = sessionStatus(sessionId, ticket, cursor.sequence)
      return json(200, { ...status, messages, state, output })
    },
  }),
  route({
    method: 'GET',
    path: '/helix/:agent/status',
    action: 'read',
    summary: 'For Helix Agents: reads the status of a session.',
    query: session,
    replies: { 200: StatusSchema },
    handle: async call => {
      const { services, query } = call
      const { sessionId } = query
      const { ticket, head } = await requireSession(services, await callerOf(call, sessionId), sessionId)
      return json(200, sessionStatus(sessionId, ticket, head))
    },
  }),
  stopRoute('interrupt', 'For Helix Agents: interrupts a run, which can be resumed. Its messages stay.'),
  stopRoute('abort', 'For Helix Agents: aborts a run, which cannot be resumed.'),
  route({
    method: 'POST',
    path: '/helix/:agent/submit-tool-result',
    action: 'answer',
    summary: 'For Helix Agents: answers a pending request with the result of a client tool, an approval or a response.',
    body: SubmitToolResultSchema,
    replies: { 200: SubmittedSchema },
    handle: async call => {
      const { services, body } = call
      const { sessionId } = body
      const caller = await callerOf(call, sessionId)
      const { streamId, ticket } = await requireSession(services, caller, sessionId)
      try {
        await services.runtime.answer(streamId, answerFromToolResult(body, ticket), answererOf(caller))
        return json(200, { status: 'accepted', continuation: 'automatic' })
      } catch (error) {
        const status = error instanceof RunError ? SUBMIT_STATUSES[error.code] : undefined
        if (status === undefined) throw error
        return json(200, { status, continuation: 'none' })
      }
    },
  }),
]

/** Authorizes a session that is named in the body or query. @throws `program_unknown` if the agent in the path does not exist */
async function callerOf(call: RouteCall, sessionId: string): Promise<Caller> {
  programNamed(call.services, call.params['agent'] as string)
  return callerInSession(call, sessionId)
}

/** A route that stops a run. */
function stopRoute(mode: 'interrupt' | 'abort', summary: string): Route {
  return route({
    method: 'POST',
    path: `/helix/:agent/${mode}`,
    action: 'stop',
    summary,
    body: StopRequestSchema,
    replies: { 200: StatusSchema },
    handle: async call => {
      const { services, body } = call
      const { sessionId, runId, reason } = body
      const caller = await callerOf(call, sessionId)
      await stopRun(services, caller, sessionId, { runId, mode, reason })
      const { ticket: after, head } = await requireSession(services, caller, sessionId)
      return json(200, sessionStatus(sessionId, after, head))
    },
  })
}

/** Starts a run that replaces another one. A repeated request joins the run that it started. */
async function replyWithReplacement(
  call: RouteCall,
  sessionId: string,
  start: (session: StreamInfo, options: RequestOptions) => Promise<Run>,
): Promise<Reply> {
  const { services, request } = call
  const caller = await callerOf(call, sessionId)
  const runId = checkRunId('Idempotency-Key', request.headers.get('idempotency-key'))
  return replyWithRun(call, caller, async () => {
    const session = await requireSession(services, caller, sessionId)
    const { streamId } = session
    const { view } = await services.runtime.view(streamId)
    const repeated = view.requests.find(request => request.runId === runId)
    if (repeated) return { run: services.runtime.run(streamId, repeated.runId) }
    const options = omitUndefined({ ...(await requesterOf(call, caller)), runId }) as RequestOptions
    return { run: await start(session, options) }
  })
}

/** Replies with the position of a run, or with its stream. The stream slot is taken before the run starts. */
async function replyWithRun(
  call: RouteCall,
  caller: Caller,
  start: () => Promise<{ readonly run: Run }>,
  program?: Program,
): Promise<Reply> {
  const { services, request } = call
  const isStream = negotiate(request.headers.get('accept'), ['json', 'sse']) === 'sse'
  const release = isStream ? services.limiter.acquireStream(caller.principal) : () => {}
  try {
    const { run } = await start()
    const { runId } = run
    const sessionId = sessionIdOf(run.sessionId)
    const info = await requireSession(services, caller, sessionId)
    const streamSequence = (await requestPositionOf(call, run)) - 1
    const headers = { 'x-run-id': encodeURIComponent(runId) }
    if (isStream)
      return streamReply(call, caller, { identity: info, after: `${streamSequence}`, runId, program }, release, headers)
    const started = { sessionId, streamId: sessionId, runId, streamSequence }
    return json(202, started, { 'x-session-id': encodeURIComponent(sessionId), ...headers })
  } catch (error) {
    release()
    throw error
  }
}

/** The sequence of the request for a run. */
async function requestPositionOf(
  { services }: RouteCall,
  { sessionId: streamId, runId, requestedAt }: Run,
): Promise<number> {
  if (requestedAt !== undefined) return requestedAt
  const { view } = await services.runtime.view(streamId)
  const found = view.requests.find(request => request.runId === runId) ?? view.runs.find(run => run.runId === runId)
  return found?.at ?? view.head + 1
}

function streamReply(
  { services, request, action }: RouteCall,
  caller: Caller,
  options: HelixStreamOptions,
  release: () => void,
  headers: Readonly<Record<string, string>>,
): Reply {
  const { identity, program } = options
  const sessionId = sessionIdOf(identity.streamId)
  return services.connections.reply({
    format: 'sse',
    framing: helixFraming,
    headers: { 'x-session-id': encodeURIComponent(sessionId), ...headers },
    recheck: () => reauthorizeSession(services, request, caller, action, sessionId, program),
    serve: channel => new HelixStream(services, channel, options).run(),
    onClose: release,
  })
}
