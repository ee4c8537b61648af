import type { Caller } from '../auth/authorize.ts'
import { errorResponseOf, HttpError } from '../errors/http-error.ts'
import { negotiate } from '../http/accept.ts'
import type { Reply } from '../http/reply.ts'
import { type RouteCall, route, SESSION_ID } from '../routing/route.ts'
import { nameList, oneOf, optionalName, optionalText, textList } from '../routing/schemas.ts'
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
import { positionsOf } from './stream-positions.ts'

const merged = oneOf('`false`: the replay has every delta as written, instead of merged deltas.', ['true', 'false'])

const whole = oneOf('`true`: every entry as written, including discarded ones. For inspectors.', ['true', 'false'])

/** Read options of a query. */
const readOptionsOf = (query: { readonly merge: string | undefined; readonly whole: string | undefined }) => ({
  merge: query.merge !== 'false' && query.whole !== 'true',
  includeDiscarded: query.whole === 'true',
})

/** Routes that follow sessions and the session list. */
export const streams = [
  route({
    method: 'GET',
    path: '/sessions/stream',
    action: 'list',
    summary: 'Follows the caller’s session list: the most recently updated sessions, then each change.',
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
    summary: 'Follows a session: replays the entries after a position, then continues live.',
    query: {
      after: optionalText('Position to start after: a cursor or a sequence.'),
      merge: merged,
      whole,
      run: optionalName('Follows only this run, up to its end or pause.'),
      live: oneOf('`false`: ends after the replay. `long-poll`: waits for the next entries, then ends.', [
        'true',
        'false',
        'long-poll',
      ]),
    },
    headers: {
      'X-Resume-From-Sequence': 'Same as `after`, if that is missing.',
      'Last-Event-ID': 'Same as `after`, if both are missing.',
      'X-Existing-Message-Id': 'A message that the client already has. It must exist in the session.',
    },
    streams: true,
    replyHeaders: { ...SESSION_ID, 'X-Existing-Message-Id': 'Echo of the request header.' },
    handle: async call => {
      const { services, caller, params, query, request, action } = call
      const sessionId = params['sessionId'] as string
      const identity = await requireSession(services, caller, sessionId)
      const { after: position, live = 'true', run: runId } = query
      const after = position === undefined ? extractResumePosition(request.headers) : checkPosition('after', position)
      const format = formatOf(request)
      if (runId !== undefined && live !== 'true') {
        throw new HttpError(
          'request_invalid',
          'live: expected no value together with run: omit it, a run is followed to its end or pause',
        )
      }
      const headers = await existingMessageHeaders(services.manager, identity, request.headers)
      const readOptions = readOptionsOf(query)
      const { heartbeatMs } = services.settings
      if (runId !== undefined) {
        const run = await knownRun(services, identity, runId)
        if (readOptions.includeDiscarded) {
          throw new HttpError('request_invalid', 'whole: expected no value together with run: omit one of them')
        }
        const options = { identity, merge: readOptions.merge, heartbeatMs, ...(after !== '0' && { after }) }
        return streamReply(call, { serve: channel => writeRun(services.manager, run, channel, options), headers })
      }
      if (live === 'long-poll') {
        const release = services.limiter.acquireStream(caller.principal)
        const recheck = () => reauthorizeSession(services, request, caller, action, sessionId)
        const { signal } = request
        return longPoll(services, {
          signal,
          recheck,
          identity,
          after,
          ...readOptions,
          format,
          headers,
        }).finally(release)
      }
      const options = {
        identity,
        after,
        isNamed: false,
        ...readOptions,
        isLive: live === 'true',
        heartbeatMs,
      }
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
      session: nameList('A session id. Repeat it for each session.'),
      after: textList(
        'Position to start after: a cursor or a sequence. Put each `after` behind its `session`, or all of them behind all sessions, in the same order.',
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
      for (const { sessionId, after } of positionsOf(url.searchParams, services.limits.sessionsPerStream)) {
        try {
          const caller = await services.authorize(request, action, sessionId)
          callers.set(sessionId, caller)
          sessions.push({ sessionId, after, identity: await requireSession(services, caller, sessionId) })
        } catch (error) {
          // A deleted or foreign session must not block the others.
          if (errorResponseOf(error).isServerFault) throw error
          refused.push({ sessionId, error })
        }
      }
      if (callers.size === 0) throw refused[0]?.error
      const authorize = (sessionId: string) =>
        reauthorizeSession(services, request, callers.get(sessionId) as Caller, action, sessionId)
      const multi = new MultiSessionStream(services, { sessions, refused }, readOptionsOf(query), authorize)
      return streamReply(call, { serve: channel => multi.serve(channel), recheck: () => multi.recheck() })
    },
  }),
]

/** Replies with a stream. Rechecks its authorization at intervals. */
function streamReply(
  { services, caller, request, action, params }: RouteCall,
  serving: Pick<StreamReplyOptions, 'serve'> & Partial<Pick<StreamReplyOptions, 'recheck' | 'headers'>>,
): Reply {
  const { sessionId } = params
  const format = formatOf(request)
  const release = services.limiter.acquireStream(caller.principal)
  return services.connections.reply({
    recheck: () => reauthorizeSession(services, request, caller, action, sessionId),
    ...serving,
    format,
    headers: { ...(sessionId !== undefined && { 'x-session-id': encodeURIComponent(sessionId) }), ...serving.headers },
    onClose: release,
  })
}

/** The frame format of a request. */
const formatOf = (request: Request): 'sse' | 'ndjson' => negotiate(request.headers.get('accept'), ['sse', 'ndjson'])
