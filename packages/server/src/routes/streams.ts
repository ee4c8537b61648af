import type { Caller } from '../auth/authorize.ts'
import { Refusal, toldOf } from '../errors/refusal.ts'
import { accepted } from '../http/accept.ts'
import type { Reply } from '../http/reply.ts'
import { type Call, route, SESSION_ID } from '../routing/route.ts'
import { anyText, anyTexts, names, oneOf, someName } from '../routing/schemas.ts'
import { knownRun } from '../runs/target-run.ts'
import { enter, mayStill } from '../sessions/session-access.ts'
import type { Serving } from '../stream/connections.ts'
import { Follower } from '../stream/follower.ts'
import { poll } from '../stream/long-poll.ts'
import { type Place, type Refused, Several } from '../stream/multi-session-stream.ts'
import { checkPosition, existingMessage, extractResumePosition } from '../stream/resume-position.ts'
import { followList } from '../stream/session-lists.ts'
import type { Outlet } from '../stream/stream-channel.ts'
import { writeRun } from '../stream/write-run.ts'
import { placesOf } from './stream-positions.ts'

const merged = oneOf('`false`: every delta as it was written, also in the replay.', ['true', 'false'])

const whole = oneOf('`true`: every entry as it was written, what was discarded before too: for who inspects it.', [
  'true',
  'false',
])

/** How the log is told. */
const howOf = (query: { readonly merge: string | undefined; readonly whole: string | undefined }) => ({
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
      return stream(call, { serve: outlet => followList(services.lists, caller.owner, outlet) })
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
      const entered = await enter(services, caller, sessionId)
      const { after: asked, live = 'true', run: runId } = query
      const after = asked === undefined ? extractResumePosition(request.headers) : checkPosition('after', asked)
      const format = framesOf(request)
      if (runId !== undefined && live !== 'true') {
        throw new Refusal('request_invalid', 'live: a run is followed to its end or pause, leave it out')
      }
      const headers = await existingMessage(services.manager, sessionId, request.headers)
      const how = howOf(query)
      const { heartbeatMs } = services.settings
      if (runId !== undefined) {
        const run = await knownRun(services, sessionId, runId)
        if (how.whole) {
          throw new Refusal('request_invalid', 'whole: a run is told without what it took back, follow the session')
        }
        const options = { entered, merge: how.merge, heartbeatMs, ...(after !== '0' && { after }) }
        return stream(call, { serve: outlet => writeRun(services.manager, run, outlet, options), headers })
      }
      if (live === 'long-poll') {
        const release = services.limiter.stream(caller.principal)
        const recheck = () => mayStill(services, request, caller, action, sessionId)
        const { signal } = request
        return poll(services, { signal, recheck, sessionId, entered, after, ...how, format, headers }).finally(release)
      }
      const options = { sessionId, entered, after, isNamed: false, ...how, isLive: live === 'true', heartbeatMs }
      const serve = (outlet: Outlet) => new Follower(services.manager, services.feeds, outlet, options).run()
      return stream(call, { serve, headers })
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
      const places: Place[] = []
      const refused: Refused[] = []
      const callers = new Map<string, Caller>()
      for (const { sessionId, after } of placesOf(url.searchParams, services.limits.sessionsPerStream)) {
        try {
          const caller = await services.authorize(request, action, sessionId)
          callers.set(sessionId, caller)
          places.push({ sessionId, after, entered: await enter(services, caller, sessionId) })
        } catch (error) {
          // A session that is gone, or not theirs, is no reason to keep the others from them.
          if (toldOf(error).isOurs) throw error
          refused.push({ sessionId, error })
        }
      }
      if (callers.size === 0) throw refused[0]?.error
      const may = (sessionId: string) =>
        mayStill(services, request, callers.get(sessionId) as Caller, action, sessionId)
      const several = new Several(services, { places, refused }, howOf(query), may)
      return stream(call, { serve: outlet => several.serve(outlet), recheck: () => several.recheck() })
    },
  }),
]

/** A connection for who may read, for as long as they may. */
function stream(
  { services, caller, request, action, params }: Call,
  serving: Pick<Serving, 'serve'> & Partial<Pick<Serving, 'recheck' | 'headers'>>,
): Reply {
  const { sessionId } = params
  const format = framesOf(request)
  const release = services.limiter.stream(caller.principal)
  return services.connections.reply({
    recheck: () => mayStill(services, request, caller, action, sessionId),
    ...serving,
    format,
    headers: { ...(sessionId !== undefined && { 'x-session-id': encodeURIComponent(sessionId) }), ...serving.headers },
    onClose: release,
  })
}

/** How frames are asked for. */
const framesOf = (request: Request): 'sse' | 'ndjson' => accepted(request.headers.get('accept'), ['sse', 'ndjson'])
