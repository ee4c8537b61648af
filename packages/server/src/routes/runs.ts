import { sessionIdOf } from '@millrace/log'
import type { RequestOptions, ResumeOptions, Run, StartOptions, StartWorkflowOptions } from '@millrace/runtime'
import type { Program } from '../auth/authorize.ts'
import { HttpError } from '../errors/http-error.ts'
import { negotiate, type ReplyType } from '../http/accept.ts'
import { json, type Reply } from '../http/reply.ts'
import { type RouteCall, RUN_ID, route, SESSION_ID } from '../routing/route.ts'
import { AcceptedRun, EditBody, ResumeBody, RetryBody, RunBody, StopBody, Stopped } from '../routing/schemas.ts'
import { omitUndefined } from '../runs/omit-undefined.ts'
import { programIn, programKey } from '../runs/program.ts'
import { guestOf, requesterOf } from '../runs/requester.ts'
import { assertInputSize, assertSameRequest, type RunMessage } from '../runs/run-input.ts'
import { stopRun } from '../runs/target-run.ts'
import { assertUploaded } from '../runs/uploads.ts'
import type { SessionIdentity } from '../sessions/session-access.ts'
import { reauthorize, reauthorizeSession, requireSession, withSession } from '../sessions/session-access.ts'
import type { Format } from '../stream/format.ts'
import { writeRun } from '../stream/write-run.ts'

/** Routes that start, stop, resume, retry and edit runs. */
export const runs = [
  route({
    method: 'POST',
    path: '/sessions/:sessionId/runs',
    action: 'run',
    summary: 'Starts a run. Replies with its frames, or with `Accept: application/json` with its ids and position.',
    body: RunBody,
    replies: { 202: AcceptedRun },
    streams: true,
    replyHeaders: { ...SESSION_ID, ...RUN_ID },
    handle: async call => {
      const { services, caller, body, request, params } = call
      const { agent, workflow, onDisconnect, ...rest } = body
      const replyType = negotiate(request.headers.get('accept'), ['sse', 'ndjson', 'json'])
      const stopsOnDisconnect = onDisconnect === 'stop'
      if (stopsOnDisconnect && replyType === 'json') {
        throw new HttpError(
          'request_invalid',
          'onDisconnect: stop needs a stream: accept text/event-stream or application/x-ndjson',
        )
      }
      const sessionId = params['sessionId'] as string
      const program = programIn(services, { agent, workflow })
      await reauthorize(services, request, caller, call.action, sessionId, program)
      assertInputSize(services, rest.input)
      const start = async () => {
        const run = await withSession(services, caller, sessionId, async session => {
          await assertUploaded(services, session, rest.input)
          const options = { ...(await requesterOf(call, caller)), ...rest, session: session.streamId, ...program }
          return services.runtime.start(omitUndefined(options) as unknown as StartOptions & StartWorkflowOptions)
        })
        const { input, ...fields } = rest
        const repeated = { ...fields, message: input, program: programKey(program) }
        if (rest.runId !== undefined) await assertSameRequest(services, run, repeated)
        return run
      }
      return replyWithRun(call, replyType, start, { stopsOnDisconnect, program })
    },
  }),
  route({
    method: 'POST',
    path: '/sessions/:sessionId/stop',
    action: 'stop',
    summary: 'Stops a run, by default the open one, or removes a queued request.',
    body: StopBody,
    replies: { 200: Stopped },
    handle: async ({ services, caller, body, params }) => {
      const sessionId = params['sessionId'] as string
      return json(200, await stopRun(services, caller, sessionId, body))
    },
  }),
  route({
    method: 'POST',
    path: '/sessions/:sessionId/resume',
    action: 'resume',
    summary:
      'Resumes an interrupted run, by default the latest, with a new run. From a checkpoint: by default the run that made it.',
    body: ResumeBody,
    replies: { 202: AcceptedRun },
    streams: true,
    replyHeaders: { ...SESSION_ID, ...RUN_ID },
    handle: async call => {
      const { services, caller, body, params } = call
      const sessionId = params['sessionId'] as string
      const session = await requireSession(services, caller, sessionId)
      const { resumes, ...rest } = body
      const { message, ...mode } = { message: undefined, ...rest }
      assertInputSize(services, message)
      await assertUploaded(services, session, message)
      return replyWithReplacement(call, message, options =>
        services.runtime.resume(session.streamId, resumes, {
          ...(omitUndefined({ ...mode, input: message }) as ResumeOptions),
          ...options,
        }),
      )
    },
  }),
  route({
    method: 'POST',
    path: '/sessions/:sessionId/retry',
    action: 'retry',
    summary: 'Retries a turn, by default the latest, and replaces its results.',
    body: RetryBody,
    replies: { 202: AcceptedRun },
    streams: true,
    replyHeaders: { ...SESSION_ID, ...RUN_ID },
    handle: async call => {
      const { services, caller, body, params } = call
      const sessionId = params['sessionId'] as string
      const { streamId } = await requireSession(services, caller, sessionId)
      return replyWithReplacement(call, undefined, options => services.runtime.retry(streamId, body.of, options))
    },
  }),
  route({
    method: 'POST',
    path: '/sessions/:sessionId/edit',
    action: 'edit',
    summary: 'Replaces a user message and everything after it.',
    body: EditBody,
    replies: { 202: AcceptedRun },
    streams: true,
    replyHeaders: { ...SESSION_ID, ...RUN_ID },
    handle: async call => {
      const { services, caller, body, params } = call
      const sessionId = params['sessionId'] as string
      const session = await requireSession(services, caller, sessionId)
      const { messageId, input, newMessageId, data } = body
      assertInputSize(services, input)
      await assertUploaded(services, session, input)
      return replyWithReplacement(call, input, options =>
        services.runtime.edit(session.streamId, messageId, input, {
          ...options,
          ...omitUndefined({ newMessageId, data }),
        }),
      )
    },
  }),
]

/** Starts a run that replaces another one, and replies with it. */
async function replyWithReplacement(
  call: RouteCall<{ readonly [K in 'runId' | 'whenBusy']?: RequestOptions[K] | undefined }>,
  message: RunMessage | undefined,
  start: (options: RequestOptions) => Promise<Run>,
): Promise<Reply> {
  const { services, caller, request, body } = call
  const replyType = negotiate(request.headers.get('accept'), ['json', 'sse', 'ndjson'])
  const { runId, whenBusy } = body
  return replyWithRun(call, replyType, async () => {
    const run = await start({ ...(await requesterOf(call, caller)), ...omitUndefined({ runId, whenBusy }) })
    if (runId !== undefined && message !== undefined) await assertSameRequest(services, run, { message })
    return run
  })
}

interface RunReplyOptions {
  /** Whether the run stops when the client disconnects. */
  readonly stopsOnDisconnect?: boolean
  /** The program that the request names. */
  readonly program?: Program
}

/** Replies with a run: its ids, or its frames. The stream slot is taken before the run starts. */
async function replyWithRun(
  call: RouteCall,
  replyType: ReplyType,
  start: () => Promise<Run>,
  options: RunReplyOptions = {},
): Promise<Reply> {
  const { services, caller } = call
  const release = replyType === 'json' ? () => {} : services.limiter.acquireStream(caller.principal)
  try {
    const run = await start()
    if (replyType === 'json') return acceptedReply(run)
    // From here on, reads must be of this session.
    const identity = await requireSession(services, caller, sessionIdOf(run.sessionId))
    return framesReply(call, run, identity, replyType, release, options)
  } catch (error) {
    release()
    throw error
  }
}

const headersOf = ({ sessionId, runId }: Run) => ({
  'x-session-id': encodeURIComponent(sessionIdOf(sessionId)),
  'x-run-id': encodeURIComponent(runId),
})

function acceptedReply(run: Run): Reply {
  const { runId, requestedAt } = run
  return json(202, { sessionId: sessionIdOf(run.sessionId), runId, sequence: requestedAt }, headersOf(run))
}

function framesReply(
  { services, caller, request, action }: RouteCall,
  run: Run,
  identity: SessionIdentity,
  format: Format,
  release: () => void,
  { stopsOnDisconnect, program }: RunReplyOptions,
): Reply {
  const { sessionId: streamId, runId } = run
  const { heartbeatMs } = services.settings
  return services.connections.reply({
    format,
    headers: headersOf(run),
    recheck: () => reauthorizeSession(services, request, caller, action, sessionIdOf(streamId), program),
    serve: channel => writeRun(services.manager, run, channel, { identity, merge: false, heartbeatMs }),
    onClose: isEnded => {
      release()
      // On shutdown the server ends the stream: the run continues elsewhere and the client reconnects.
      if (!stopsOnDisconnect || isEnded) return
      const options = { ...guestOf(caller), reason: 'the client disconnected' }
      services.runtime.stop(streamId, runId, options).catch(cause => {
        services.logger.error('a run whose client disconnected could not be stopped', {
          sessionId: streamId,
          runId,
          cause,
        })
      })
    },
  })
}
