import type { Caller } from '../auth/authorize.ts'
import { errorResponseOf, Refusal } from '../errors/refusal.ts'
import { negotiate } from '../http/accept.ts'
import type { Reply } from '../http/reply.ts'
import { type RouteCall, route, SESSION_ID } from '../routing/route.ts'
import { anyText, anyTexts, names, oneOf, someName } from '../routing/schemas.ts'
import { knownRun } from '../runs/target-run.ts'
import { reauthorizeSession, requireSession } from '../sessions/session-access.ts'
import type { StreamReplyOptions } from '../stream/connections.ts'
import { Follower } from '../stream/follower.ts'
import { longPoll } from '../stream/long-poll.ts'
import { type FollowedSession, MultiSessionStream, type RefusedSession } from '../stream/multi-session-stream.ts'
import { checkPosition, existingMessageHeaders, extractResumePosition } from '../stream/resume-position.ts'
import { followList } from '../stream/session-lists.ts'
import type { StreamChannel } from '../stream/stream-channel.ts'
import { writeRun } from '../stream/write-run.ts'
import { placesOf } from './stream-positions.ts'

const merged = oneOf('`false`: every delta as it was written, also in the replay.', ['true', 'false'])

const whole = oneOf('`true`: every entry as it was written, what was discarded before too: for who inspects it.', [
  'true',
  'false',
])

/** How the log is told. */
const readOptionsOf = (query: { readonly merge: string | undefined; readonly whole: string | undefined }) => ({
  merge: query.merge !== 'false' && query.whole !== 'true',
  whole: query.whole === 'true',
})

/** The routes by which sessions are followed. */
export const streams = [
  route({
    method: 'GET',
    path: '/sessions/stream',
    action: 'list',
    summary: 'Follows the list of one’s sessions: those touched last, then every change.',
    streams: true,
    handle: async call => {
      const { services, caller } = call
      return streamReply(call, { serve: channel => followList(services.lists, caller.owner, channel) })
    },
  }),
  route({
    method: 'GET',
    path: '/sessions/:sessionId/stream',
    action: 'follow',
    summary: 'Follows a session: replay after a place, then live.',
    query: {
      after: anyText('Only what lies after this cursor or sequence.'),
      merge: merged,
      whole,
      run: someName('Only this run, to its end or pause.'),
      live: oneOf('`false`: stops when caught up. `long-poll`: waits until there is something, then stops.', [
        'true',
        'false',
        'long-poll',
      ]),
    },
    headers: {
      'X-Resume-From-Sequence': 'The same as `after`, where that is not said.',
      'Last-Event-ID': 'The same, where neither is said.',
      'X-Existing-Message-Id': 'A message that the client has already: it must be one of the session.',
    },
    streams: true,
    gives: { ...SESSION_ID, 'X-Existing-Message-Id': 'The same, where it was said.' },
    handle: async call => {
      const { services, caller, params, query, request, action } = call
      const sessionId = params['sessionId'] as string
      const identity = await requireSession(services, caller, sessionId)
      const { after: asked, live = 'true', run: runId } = query
      const after = asked === undefined ? extractResumePosition(request.headers) : checkPosition('after', asked)
      const format = formatOf(request)
      if (runId !== undefined && live !== 'true') {
        throw new Refusal('request_invalid', 'live: a run is followed to its end or pause, leave it out')
      }
      const headers = await existingMessageHeaders(services.manager, sessionId, request.headers)
      const how = readOptionsOf(query)
      const { heartbeatMs } = services.settings
      if (runId !== undefined) {
        const run = await knownRun(services, sessionId, runId)
        if (how.whole) {
          throw new Refusal('request_invalid', 'whole: a run is told without what it took back, follow the session')
        }
        const options = { identity, merge: how.merge, heartbeatMs, ...(after !== '0' && { after }) }
        return streamReply(call, { serve: channel => writeRun(services.manager, run, channel, options), headers })
      }
      if (live === 'long-poll') {
        const release = services.limiter.stream(caller.principal)
        const recheck = () => reauthorizeSession(services, request, caller, action, sessionId)
        const { signal } = request
        return longPoll(services, { signal, recheck, sessionId, identity, after, ...how, format, headers }).finally(
          release,
        )
      }
      const options = { sessionId, identity, after, isNamed: false, ...how, isLive: live === 'true', heartbeatMs }
      const serve = (channel: StreamChannel) => new Follower(services.manager, channel, options).run()
      return streamReply(call, { serve, headers })
    },
  }),
  route({
    method: 'GET',
    path: '/stream',
    action: 'follow',
    summary: 'Follows several sessions on one connection: `?session=a&after=…&session=b`.',
    query: {
      session: names('A session, and another, and so on.'),
      after: anyTexts(
        'Only what lies after this cursor or sequence: of the session before it, or one for each session, after all of them.',
      ),
      merge: merged,
      whole,
    },
    streams: true,
    handle: async call => {
      const { services, action, url, request, query } = call
      const sessions: FollowedSession[] = []
      const refused: RefusedSession[] = []
      const callers = new Map<string, Caller>()
      for (const { sessionId, after } of placesOf(url.searchParams, services.limits.sessionsPerStream)) {
        try {
          const caller = await services.authorize(request, action, sessionId)
          callers.set(sessionId, caller)
          sessions.push({ sessionId, after, identity: await requireSession(services, caller, sessionId) })
        } catch (error) {
          // A session that is gone, or not theirs, is no reason to keep the others from them.
          if (errorResponseOf(error).isServerFault) throw error
          refused.push({ sessionId, error })
        }
      }
      if (callers.size === 0) throw refused[0]?.error
      const may = (sessionId: string) =>
        reauthorizeSession(services, request, callers.get(sessionId) as Caller, action, sessionId)
      const multi = new MultiSessionStream(services, { sessions, refused }, readOptionsOf(query), may)
      return streamReply(call, { serve: channel => multi.serve(channel), recheck: () => multi.recheck() })
    },
  }),
]

/** A connection for who may read, for as long as they may. */
function streamReply(
  { services, caller, request, action, params }: RouteCall,
  serving: Pick<StreamReplyOptions, 'serve'> & Partial<Pick<StreamReplyOptions, 'recheck' | 'headers'>>,
): Reply {
  const { sessionId } = params
  const format = formatOf(request)
  const release = services.limiter.stream(caller.principal)
  return services.connections.reply({
    recheck: () => reauthorizeSession(services, request, caller, action, sessionId),
    ...serving,
    format,
    headers: { ...(sessionId !== undefined && { 'x-session-id': encodeURIComponent(sessionId) }), ...serving.headers },
    onClose: release,
  })
}

/** How frames are asked for. */
const formatOf = (request: Request): 'sse' | 'ndjson' => negotiate(request.headers.get('accept'), ['sse', 'ndjson'])
