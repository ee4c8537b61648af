import { Refusal } from '../error.ts'
import type { Reply } from '../http/reply.ts'
import { type Call, route } from '../route/route.ts'
import { enter } from '../session.ts'
import { Follower } from '../stream/follower.ts'
import { type Format, formatOf } from '../stream/format.ts'
import { followList } from '../stream/list-frames.ts'
import type { Outlet } from '../stream/outlet.ts'
import { poll } from '../stream/poll.ts'
import { checkPosition, extractResumePosition } from '../stream/resume.ts'
import { writeRun } from '../stream/run-frames.ts'

const followed = {
  after: 'Only what lies after this cursor or sequence.',
  merge: '`false`: every delta as it was written, also in the replay.',
}

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
      return stream(call, outlet => followList(services.lists, caller.owner, outlet), 'list')
    },
  }),
  route({
    method: 'GET',
    path: '/sessions/:sessionId/stream',
    action: 'follow',
    summary: 'Follows a session: replay after a place, then live.',
    query: {
      ...followed,
      run: 'Only this run, to its end or pause.',
      live: '`false`: stops when caught up. `long-poll`: waits until there is something, then stops.',
    },
    streams: true,
    handle: async call => {
      const { services, caller, params, url, request } = call
      const sessionId = params['sessionId'] as string
      await enter(services, caller, sessionId)
      const query = url.searchParams
      const after = query.get('after')
      const place = after === null ? extractResumePosition(request.headers) : checkPosition('after', after)
      const headers = await existing(call, sessionId)
      const merge = flag(query, 'merge', true)
      const runId = query.get('run')
      const { heartbeatMs } = services.settings
      if (runId !== null) {
        const run = services.runtime.run(sessionId, runId)
        const options = { merge, heartbeatMs, ...(place !== '0' && { after: place }) }
        return stream(call, outlet => writeRun(services.manager, run, outlet, options), 'follow', sessionId, headers)
      }
      const live = query.get('live') ?? 'true'
      if (!['true', 'false', 'long-poll'].includes(live)) {
        throw new Refusal('request_invalid', 'live: expected true, false or long-poll')
      }
      if (live === 'long-poll') return poll(call, { sessionId, after: place, merge, headers })
      const options = { sessionId, after: place, isNamed: false, merge, isLive: live === 'true', heartbeatMs }
      const serve = (outlet: Outlet) => new Follower(services.manager, services.feeds, outlet, options).run()
      return stream(call, serve, 'follow', sessionId, headers)
    },
  }),
  route({
    method: 'GET',
    path: '/stream',
    action: 'follow',
    summary: 'Follows several sessions on one connection: `?session=a&after=…&session=b`.',
    query: { session: 'A session; more than one may be named.', ...followed },
    streams: true,
    handle: async call => {
      const { services, url, request } = call
      const places = placesOf(url.searchParams, services.limits.sessionsPerStream)
      for (const { sessionId } of places) {
        const caller = await services.authorize(request, 'follow', sessionId)
        await enter(services, caller, sessionId)
      }
      const merge = flag(url.searchParams, 'merge', true)
      const { heartbeatMs } = services.settings
      return stream(
        call,
        async outlet => {
          await Promise.all(
            places.map(({ sessionId, after }) => {
              const options = { sessionId, after, isNamed: true, merge, isLive: true, heartbeatMs }
              const follower = new Follower(services.manager, services.feeds, outlet, options)
              return follower.run().catch(error => services.connections.fail(outlet, error, sessionId))
            }),
          )
        },
        'follow',
      )
    },
  }),
]

/** A connection for who may read, for as long as they may. */
function stream(
  { services, caller, request }: Call,
  serve: (outlet: Outlet) => Promise<void>,
  action: 'follow' | 'list',
  sessionId?: string,
  headers: Readonly<Record<string, string>> = {},
): Reply {
  const format = frames(request)
  const release = services.limiter.stream(caller.principal)
  return services.connections.reply({
    format,
    headers: sessionId === undefined ? headers : { 'x-session-id': encodeURIComponent(sessionId), ...headers },
    recheck: async () => {
      await services.authorize(request, action, sessionId)
    },
    serve,
    onClose: release,
  })
}

/** How frames are asked for. */
export function frames(request: Request): Format {
  const format = formatOf(request.headers.get('accept'))
  if (format !== 'json') return format
  throw new Refusal('not_acceptable', 'accept: expected text/event-stream or application/x-ndjson')
}

/** What a client says to have of a message already: it must be one of the session. */
async function existing({ services, request }: Call, sessionId: string): Promise<Readonly<Record<string, string>>> {
  const messageId = request.headers.get('x-existing-message-id')
  if (messageId === null) return {}
  const { view } = await services.manager.view(sessionId)
  if (view.messages.some(({ id }) => id === messageId)) return { 'x-existing-message-id': messageId }
  throw new Refusal('message_unknown', 'X-Existing-Message-Id: the session has no message of that id: read it again')
}

interface Place {
  readonly sessionId: string
  readonly after: string
}

/** The sessions that a query names, each with the place after it. */
function placesOf(query: URLSearchParams, most: number): readonly Place[] {
  const places: { sessionId: string; after: string }[] = []
  for (const [key, value] of query) {
    if (key === 'session') places.push({ sessionId: value, after: '0' })
    else if (key === 'after') {
      const last = places.at(-1)
      if (last === undefined) throw new Refusal('request_invalid', 'after: expected a session before it')
      last.after = checkPosition('after', value)
    }
  }
  if (places.length === 0) throw new Refusal('request_invalid', 'session: expected one at least')
  if (places.length > most) throw new Refusal('request_invalid', `session: expected at most ${most}`)
  if (new Set(places.map(({ sessionId }) => sessionId)).size < places.length) {
    throw new Refusal('request_invalid', 'session: expected each once')
  }
  return places
}

function flag(query: URLSearchParams, name: string, usual: boolean): boolean {
  const value = query.get(name)
  if (value === null) return usual
  if (value === 'true' || value === 'false') return value === 'true'
  throw new Refusal('request_invalid', `${name}: expected true or false`)
}
