import type * as z from 'zod'
import type { Action, Caller } from '../auth/authorize.ts'
import type { ByteCount } from '../auth/limiter.ts'
import type { Limits } from '../auth/limits.ts'
import { HttpError } from '../errors/http-error.ts'
import { assertJsonType, jsonOf, wasParsed } from '../http/body.ts'
import type { Reply } from '../http/reply.ts'
import type { Services } from './services.ts'
import { validationProblem } from './validation-problem.ts'

/** Query parameters by name. Only parameters with an array schema may repeat. */
export type Query = Readonly<Record<string, z.ZodType>>

/** A validated request and its caller. */
export interface RouteCall<Body = unknown, Parameters extends object = object> {
  readonly services: Services
  readonly request: Request
  readonly url: URL
  readonly action: Action
  /** Names in the path. */
  readonly params: Readonly<Record<string, string>>
  readonly caller: Caller
  /** Counts the bytes of the body in flight. */
  readonly bodyBytes: ByteCount
  /** Counts the bytes that are read for the reply. They stay counted until the reply is sent. */
  readonly replyBytes: ByteCount
  readonly query: Parameters
  readonly body: Body
}

/** A route of the API: its path, what it accepts, what it replies, and its handler. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** `:name` matches one segment. */
  readonly path: string
  readonly action: Action
  /** One sentence for the OpenAPI document. */
  readonly summary: string
  /** Schema of a JSON body. */
  readonly body?: z.ZodType
  /** Whether the body is bytes that the handler reads itself. */
  readonly takesBytes?: true
  /** Whether the body may contain a whole transcript, which raises its size limit. */
  readonly takesTranscript?: true
  readonly query?: Query
  /** Request headers that the route reads, with descriptions. */
  readonly headers?: Readonly<Record<string, string>>
  /** Schemas of JSON replies, by status. */
  readonly replies?: Readonly<Record<number, z.ZodType>>
  /** Whether it replies also while the store is out of reach, and while the server shuts down. Its handler gets no services. */
  readonly ignoresStore?: true
  /** Whether it may reply with a stream. */
  readonly streams?: true
  /** Reply headers, with descriptions. */
  readonly replyHeaders?: Readonly<Record<string, string>>
  /** Content types of other replies, by status; for 204 a description. */
  readonly otherReplies?: Readonly<Record<number, string>>
  readonly handle: (call: RouteCall<never, never>) => Promise<Reply>
}

/** Reply headers that name the session and the run. */
export const SESSION_ID = { 'X-Session-Id': 'The session id, percent-encoded.' }
export const RUN_ID = { 'X-Run-Id': 'The run id, percent-encoded.' }

/** Defines a route whose handler gets its body and query with the types of their schemas. */
export const route = <S extends z.ZodType = z.ZodType<undefined>, Q extends Query = Record<never, never>>(
  definition: Omit<Route, 'handle' | 'body' | 'query'> & {
    readonly body?: S
    readonly query?: Q
    readonly handle: (call: RouteCall<z.output<S>, { readonly [K in keyof Q]: z.output<Q[K]> }>) => Promise<Reply>
  },
): Route => definition as Route

/** Maximum size of a route's body, in bytes. */
export function bodyLimitOf({ takesBytes, takesTranscript }: Route, limits: Limits): number {
  if (takesBytes) return limits.uploadBytes
  return takesTranscript ? limits.transcriptBytes : limits.bodyBytes
}

/** Validates the query and the body, then calls the handler. @throws `request_invalid` or `body_invalid` */
export async function callRoute(route: Route, call: Omit<RouteCall, 'action' | 'query' | 'body'>): Promise<Reply> {
  const { action, query = {} } = route
  const parameters = parseQuery(query, call.url.searchParams)
  if (route.takesBytes) assertOriginalBytes(call.request)
  else if (route.method === 'POST' || route.method === 'PATCH') assertJsonType(call.request)
  const body =
    route.body &&
    parse(
      'body_invalid',
      'body',
      route.body,
      await jsonOf(call.request, bodyLimitOf(route, call.services.limits), call.bodyBytes.add),
    )
  return route.handle({ ...call, action, query: parameters as never, body: body as never })
}

/** @throws `body_parsed` if a framework has parsed the body: the stored file would differ from the one sent */
function assertOriginalBytes(request: Request): void {
  if (!wasParsed(request)) return
  throw new HttpError(
    'body_parsed',
    'body: expected the original bytes, found a body that a framework has parsed: mount this server before express.json() and similar middleware, or exclude its path there',
  )
}

function parseQuery(query: Query, sent: URLSearchParams): object {
  const parameters = Object.entries(query).map(([name, schema]) => {
    const values = sent.getAll(name)
    const isRepeated = schema.type === 'array'
    if (values.length > 1 && !isRepeated) throw new HttpError('request_invalid', `${name}: expected at most once`)
    return [name, parse('request_invalid', name, schema, isRepeated ? values : values[0])]
  })
  return Object.fromEntries(parameters)
}

/** A large body with a problem in each element would otherwise take half a minute. */
const FIRST_PROBLEM: z.core.ParseContextInternal<z.core.$ZodIssue> = { abortEarly: true }

function parse(code: 'body_invalid' | 'request_invalid', label: string, schema: z.ZodType, value: unknown): unknown {
  const { success, data, error } = schema.safeParse(value, FIRST_PROBLEM)
  if (success) return data
  throw new HttpError(code, validationProblem(label, error.issues))
}
