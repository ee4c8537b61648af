// HTTP requests of the dialects: to foreign servers, and of foreign clients to ours.

import { RequestError } from './request-error.ts'

/** A value, or what gives it, each time it is needed. */
type Computed<T> = T | (() => T | Promise<T>)

/** Where a peer is, and as whom it is asked. */
export interface HttpServerOptions {
  /** Where it is. */
  readonly api: string
  readonly headers?: Computed<HeadersInit> | undefined
  readonly credentials?: Computed<RequestCredentials> | undefined
  /** In place of the global `fetch`. */
  readonly fetch?: typeof fetch | undefined
}

const computed = async <T>(given: Computed<T>): Promise<T> =>
  typeof given === 'function' ? (given as () => T | Promise<T>)() : given

export interface HttpRequest {
  readonly method?: 'GET' | 'POST' | undefined
  /** In place of the peer's own. */
  readonly url?: string | undefined
  /** Said as JSON. */
  readonly body?: unknown
  readonly headers?: Record<string, string> | undefined
  readonly signal?: AbortSignal | undefined
}

/** A credential that has run out is asked for once more. */
const UNAUTHORIZED = 401

/** The response to a request; throws a `RequestError` for all that is none or says no. */
export async function request(options: HttpServerOptions, asking: HttpRequest): Promise<Response> {
  let reply = await respond(options, asking)
  if (reply.status === UNAUTHORIZED && typeof options.headers === 'function') {
    reply.body?.cancel().catch(() => {})
    reply = await respond(options, asking)
  }
  if (!reply.ok) throw await refusalOf(reply)
  return reply
}

/** Who asks. What gives that goes to the network itself, as like as not: it may do better the next time. */
async function credentialsOf({ headers = {}, credentials = 'same-origin' }: HttpServerOptions) {
  try {
    return { headers: new Headers(await computed(headers)), credentials: await computed(credentials) }
  } catch (error) {
    throw new RequestError({ code: 'headers_failed', message: messageOf(error), retryable: true })
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

async function respond(options: HttpServerOptions, asking: HttpRequest): Promise<Response> {
  const { fetch = globalThis.fetch, api } = options
  const { method = 'POST', url = api, body, signal } = asking
  const { headers, credentials } = await credentialsOf(options)
  if (body !== undefined) headers.set('content-type', 'application/json')
  for (const name in asking.headers) headers.set(name, asking.headers[name] as string)
  try {
    return await fetch(url, {
      method,
      headers,
      credentials,
      cache: 'no-store',
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    })
  } catch (error) {
    throw new RequestError({ code: 'network_error', message: messageOf(error), retryable: true })
  }
}

/** Stops what is under way in a session, by the route that many have for it: `POST {api}/{session}/stop`. */
export async function postStop(options: HttpServerOptions, sessionId: string, signal: AbortSignal): Promise<void> {
  const url = `${options.api.replace(/\/+$/, '')}/${encodeURIComponent(sessionId)}/stop`
  await (await request(options, { url, body: {}, signal })).body?.cancel()
}

/** So much of what a peer says with a refusal is read for people. */
const MOST_TOLD = 300

async function refusalOf(reply: Response): Promise<RequestError> {
  const { status } = reply
  const text = await reply.text().catch(() => '')
  let told: { code?: unknown; message?: unknown; error?: unknown } = {}
  try {
    told = Object(JSON.parse(text))
  } catch {
    told = { message: text.trimStart().startsWith('<') ? undefined : text }
  }
  const inner = typeof told.error === 'object' && told.error !== null ? (told.error as typeof told) : told
  const said = inner.message ?? (typeof told.error === 'string' ? told.error : undefined)
  const message =
    typeof said === 'string' && said ? said.slice(0, MOST_TOLD) : `The server answered with status ${status}.`
  const code = typeof inner.code === 'string' ? inner.code : `http_${status}`
  return new RequestError({ code, message, retryable: status >= 500 || status === 429 }, status)
}
