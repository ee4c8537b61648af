import {
  type ResumeOptions,
  type Run,
  RunError,
  type StartOptions,
  type StartWorkflowOptions,
  type UserInput,
} from '@millrace/runtime'
import { Refusal } from '../error.ts'
import { given } from '../given.ts'
import { json, type Reply } from '../http/reply.ts'
import { type Call, route } from '../route/route.ts'
import { Asked, EditBody, ResumeBody, RetryBody, RunBody, StopBody, Stopped } from '../route/schemas.ts'
import { enter, enterOrMake } from '../session.ts'
import { formatOf } from '../stream/format.ts'
import { writeRun } from '../stream/run-frames.ts'

/** The routes that start runs, stop them and do them again. */
export const runs = [
  route({
    method: 'POST',
    path: '/sessions/:sessionId/runs',
    action: 'run',
    summary: 'Starts a run: its frames, or with `Accept: application/json` where it was asked for.',
    body: RunBody,
    replies: { 202: Asked },
    streams: true,
    handle: async call => {
      const { services, caller, body, request, params } = call
      const { agent, workflow, onDisconnect, ...rest } = body
      const format = formatOf(request.headers.get('accept'))
      const isStopped = onDisconnect === 'stop'
      if (isStopped && format === 'json') {
        throw new Refusal('request_invalid', 'onDisconnect: there is no connection to lose: ask for a stream')
      }
      const sessionId = params['sessionId'] as string
      mustBeKnown(call, agent, workflow)
      await enterOrMake(services, caller, sessionId)
      const context = await services.contextOf(request, caller, body)
      const asked = given({ ...rest, session: sessionId, guest: caller.label, context })
      const run = await services.runtime.start(
        (agent === undefined ? { ...asked, workflow } : { ...asked, agent }) as StartOptions & StartWorkflowOptions,
      )
      return answer(call, run, isStopped)
    },
  }),
  route({
    method: 'POST',
    path: '/sessions/:sessionId/stop',
    action: 'stop',
    summary: 'Asks a run to stop, the open one if none is named; or takes a waiting request back.',
    body: StopBody,
    replies: { 200: Stopped },
    handle: async ({ services, caller, body, params }) => {
      const sessionId = params['sessionId'] as string
      const { ticket } = await enter(services, caller, sessionId)
      const { runId = ticket.run?.runId ?? ticket.requests[0]?.runId, ...how } = body
      if (runId === undefined) return json(200, { stopped: false })
      const stopped = await services.runtime.stop(sessionId, runId, given({ ...how, guest: caller.label }))
      return json(200, { runId, stopped })
    },
  }),
  route({
    method: 'POST',
    path: '/sessions/:sessionId/resume',
    action: 'resume',
    summary: 'Goes on from an interrupted run, the latest if none is named, by another run.',
    body: ResumeBody,
    replies: { 202: Asked },
    streams: true,
    handle: async call => {
      const { services, caller, body, params } = call
      const sessionId = params['sessionId'] as string
      const { ticket } = await enter(services, caller, sessionId)
      const { resumes = ticket.run?.runId ?? ticket.last?.runId, ...how } = body
      if (resumes === undefined) throw new Refusal('request_invalid', 'resumes: there is no run to go on from')
      const { message, ...rest } = { message: undefined, ...how }
      const options = given({ ...rest, input: message, guest: caller.label }) as ResumeOptions
      return answer(call, await services.runtime.resume(sessionId, resumes, options), false, true)
    },
  }),
  route({
    method: 'POST',
    path: '/sessions/:sessionId/retry',
    action: 'retry',
    summary: 'Does a turn again, the latest if none is named, in place of what came of it.',
    body: RetryBody,
    replies: { 202: Asked },
    streams: true,
    handle: async call => {
      const { services, caller, body, params } = call
      const sessionId = params['sessionId'] as string
      await enter(services, caller, sessionId)
      const { of, ...rest } = body
      const run = await services.runtime.retry(sessionId, of, given({ ...rest, guest: caller.label }))
      return answer(call, run, false, true)
    },
  }),
  route({
    method: 'POST',
    path: '/sessions/:sessionId/edit',
    action: 'edit',
    summary: 'Puts another message in place of one, and of all that came of it.',
    body: EditBody,
    replies: { 202: Asked },
    streams: true,
    handle: async call => {
      const { services, caller, body, params } = call
      const sessionId = params['sessionId'] as string
      await enter(services, caller, sessionId)
      const { messageId, input, ...rest } = body
      const options = given({ ...rest, guest: caller.label })
      return answer(call, await services.runtime.edit(sessionId, messageId, input as UserInput, options), false, true)
    },
  }),
]

/** Throws where nobody knows the program, before a session is made for it. */
function mustBeKnown({ services }: Call, agent: string | undefined, workflow: string | undefined): void {
  const isKnown =
    agent === undefined
      ? services.workflows.some(({ name }) => name === workflow)
      : services.agents.some(({ name }) => name === agent)
  if (isKnown) return
  const what = agent === undefined ? `workflow ${workflow}` : `agent ${agent}`
  throw new RunError('program_unknown', `${what}: there is none of that name`)
}

/** What a run is answered with: where it was asked for, or its frames. */
function answer(call: Call, run: Run, isStopped: boolean, isJson = false): Reply {
  const { services, caller, request } = call
  const { sessionId, runId, requestedAt } = run
  const headers = { 'x-session-id': encodeURIComponent(sessionId), 'x-run-id': encodeURIComponent(runId) }
  const accept = request.headers.get('accept')
  const format = isJson && !/event-stream|ndjson/i.test(accept ?? '') ? 'json' : formatOf(accept)
  if (format === 'json') return json(202, { sessionId, runId, sequence: requestedAt }, headers)
  const release = services.limiter.stream(caller.principal)
  return services.connections.reply({
    format,
    headers,
    recheck: async () => {
      await services.authorize(request, 'follow', sessionId)
    },
    serve: outlet =>
      writeRun(services.manager, run, outlet, { merge: false, heartbeatMs: services.settings.heartbeatMs }),
    onClose: isEnded => {
      release()
      if (!isStopped || isEnded) return
      run.stop({ reason: 'the client disconnected' }).catch(cause => {
        services.logger.error('a run whose client disconnected could not be stopped', { sessionId, runId, cause })
      })
    },
  })
}
