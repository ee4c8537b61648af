import type * as z from 'zod'
import type { Action, Caller } from '../auth/authorize.ts'
import type { ByteCount } from '../auth/limiter.ts'
import type { Limits } from '../auth/limits.ts'
import { Refusal } from '../errors/refusal.ts'
import { jsonOf, wasParsed } from '../http/body.ts'
import type { Reply } from '../http/reply.ts'
import { problemOf } from './problem.ts'
import type { Services } from './services.ts'

/** What may stand in a query, each once, unless its schema is of an array. */
export type Query = Readonly<Record<string, z.ZodType>>

/** One request, checked, and who it is of. */
export interface RouteCall<Body = unknown, Asked extends object = object> {
  readonly services: Services
  readonly request: Request
  readonly url: URL
  readonly action: Action
  /** The names in its path. */
  readonly params: Readonly<Record<string, string>>
  readonly caller: Caller
  /** Counts what of its body is here. */
  readonly held: ByteCount
  readonly query: Asked
  readonly body: Body
}

/** A way to ask for something: its place, what it takes and gives, and what it does. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** `:name` stands for a name. */
  readonly path: string
  readonly action: Action
  /** A line for people. */
  readonly summary: string
  /** The body, where it is JSON. */
  readonly body?: z.ZodType
  /** Whether its body is bytes, which it reads itself. */
  readonly takesBytes?: true
  /** Whether its body may hold all that a client shows. */
  readonly takesTranscript?: true
  readonly query?: Query
  /** The headers that it looks at, and what for. */
  readonly headers?: Readonly<Record<string, string>>
  /** The JSON that it gives, by status. */
  readonly replies?: Readonly<Record<number, z.ZodType>>
  /** Whether it may answer with frames. */
  readonly streams?: true
  /** The headers of what it gives, and what they say. */
  readonly gives?: Readonly<Record<string, string>>
  /** What else it gives, by status, and of which type. */
  readonly others?: Readonly<Record<number, string>>
  readonly handle: (call: RouteCall<never, never>) => Promise<Reply>
}

/** The headers by which replies name their session and run. */
export const SESSION_ID = { 'X-Session-Id': 'The session, as `encodeURIComponent` gives it.' }
export const RUN_ID = { 'X-Run-Id': 'The run, as `encodeURIComponent` gives it.' }

/** A route whose handler sees its body and query as what they were checked for. */
export const route = <S extends z.ZodType = z.ZodType<undefined>, Q extends Query = Record<never, never>>(
  definition: Omit<Route, 'handle' | 'body' | 'query'> & {
    readonly body?: S
    readonly query?: Q
    readonly handle: (call: RouteCall<z.output<S>, { readonly [K in keyof Q]: z.output<Q[K]> }>) => Promise<Reply>
  },
): Route => definition as Route

/** The largest body that a route takes. */
export function bodyLimitOf({ takesBytes, takesTranscript }: Route, limits: Limits): number {
  if (takesBytes) return limits.uploadBytes
  return takesTranscript ? limits.transcriptBytes : limits.bodyBytes
}

/** Does what a route does, with what was sent as its schemas have it; throws where that does not fit. */
export async function callRoute(route: Route, call: Omit<RouteCall, 'action' | 'query' | 'body'>): Promise<Reply> {
  const { action, query = {} } = route
  const asked = parseQuery(query, call.url.searchParams)
  if (route.takesBytes) mustBeAsSent(call.request)
  const body =
    route.body &&
    parsed(
      'body_invalid',
      'body',
      route.body,
      await jsonOf(call.request, bodyLimitOf(route, call.services.limits), call.held.add),
    )
  return route.handle({ ...call, action, query: asked as never, body: body as never })
}

/** Throws where somebody has read a body before, and so its bytes are lost: another file would be kept than was sent. */
function mustBeAsSent(request: Request): void {
  if (!wasParsed(request)) return
  throw new Refusal(
    'body_parsed',
    'body: something in front of this server has parsed it, and its bytes are lost: mount the server before express.json() and its like, or leave its path out there',
  )
}

function parseQuery(query: Query, sent: URLSearchParams): object {
  const asked = Object.entries(query).map(([name, schema]) => {
    const values = sent.getAll(name)
    const isRepeated = schema.type === 'array'
    if (values.length > 1 && !isRepeated) throw new Refusal('request_invalid', `${name}: expected once`)
    return [name, parsed('request_invalid', name, schema, isRepeated ? values : values[0])]
  })
  return Object.fromEntries(asked)
}

function parsed(code: 'body_invalid' | 'request_invalid', what: string, schema: z.ZodType, value: unknown): unknown {
  const { success, data, error } = schema.safeParse(value)
  if (success) return data
  throw new Refusal(code, problemOf(what, error.issues))
}
