// HTTP requests of the client to a Millrace server, and of the dialects to foreign servers.

import { isObject } from '@millrace/protocol/internal'
import { failureOf, RequestError } from './request-error.ts'

/** A value, or a function that computes it for each request. */
export type Computed<T> = T | (() => T | Promise<T>)

/** The address of a server, and the credentials for it. */
export interface HttpServerOptions {
  /** URL of the server. */
  readonly api: string
  /** Headers of each request, or a function that computes them. @default none */
  readonly headers?: Computed<HeadersInit> | undefined
  /** Credentials mode of each request, or a function that computes it. @default 'same-origin' */
  readonly credentials?: Computed<RequestCredentials> | undefined
  /** Function to use instead of `fetch`. @default globalThis.fetch */
  readonly fetch?: typeof fetch | undefined
}

/** A request with a body of any type. */
export interface RawRequest {
  /** Method, such as `POST`. */
  readonly method: string
  /** URL of the request. */
  readonly url: string
  /** Body of the request. @default no body */
  readonly body?: BodyInit | undefined
  /** Headers of this request. They replace those of the connection with the same name. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Aborts the request. */
  readonly signal?: AbortSignal | undefined
}

/** A request with a JSON body. */
export interface HttpRequest {
  /** Method. @default 'POST' */
  readonly method?: 'GET' | 'POST' | undefined
  /** URL of the request. @default the URL of the server */
  readonly url?: string | undefined
  /** Sent as JSON. */
  readonly body?: unknown
  /** Headers of this request. They replace those of the connection with the same name. */
  readonly headers?: Record<string, string> | undefined
  /** Aborts the request. */
  readonly signal?: AbortSignal | undefined
}

const UNAUTHORIZED = 401

/** Resolves a `Computed`. */
export const computed = async <T>(value: Computed<T>): Promise<T> =>
  typeof value === 'function' ? (value as () => T | Promise<T>)() : value

/** Calls `run` when the signal aborts, or now if it has. Returns a function that removes the listener. */
export function onAbort(signal: AbortSignal | undefined, run: () => void): () => void {
  signal?.addEventListener('abort', run)
  if (signal?.aborted) run()
  return () => signal?.removeEventListener('abort', run)
}

/** Rejects as soon as the signal aborts. Functions of the page, such as `fetch` and `headers`, may ignore their signal. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  return new Promise((resolve, reject) => {
    const removeListener = onAbort(signal, () => reject(failureOf(signal?.reason)))
    work.then(resolve, reject).finally(removeListener)
  })
}

/**
 * Sends a request. If the headers are computed, a 401 is retried once: the credential may have expired.
 * @param errorOf reads the error from a reply with another status.
 * @throws a `RequestError` if there is no successful response.
 */
export function send(
  {
    fetch = globalThis.fetch,
    headers: customHeaders = {},
    credentials = 'same-origin',
  }: Omit<HttpServerOptions, 'api'>,
  { url, headers: more, ...init }: RawRequest,
  errorOf: (reply: Response) => Promise<RequestError>,
): Promise<Response> {
  const attempt = async (canRetry: boolean): Promise<Response> => {
    // Functions that compute credentials often use the network, so their errors are retryable, too.
    let code = 'headers_failed'
    let reply: Response
    try {
      const headers = new Headers(await computed(customHeaders))
      for (const name in more) headers.set(name, more[name] as string)
      const sent = { ...init, headers, credentials: await computed(credentials), cache: 'no-store' }
      code = 'network_error'
      reply = await fetch(url, sent as RequestInit)
    } catch (error) {
      throw failureOf(error, code, true)
    }
    if (reply.ok) return reply
    const error = await errorOf(reply)
    if (canRetry && reply.status === UNAUTHORIZED) return attempt(false)
    throw error
  }
  return unlessAborted(attempt(typeof customHeaders === 'function'), init.signal)
}

/**
 * Sends a request to a foreign server.
 * @throws a `RequestError` if there is no successful response.
 */
export const request = (
  options: HttpServerOptions,
  { method = 'POST', url = options.api, body, headers, signal }: HttpRequest,
): Promise<Response> => {
  const isJson = body !== undefined
  const sent = isJson
    ? { body: JSON.stringify(body), headers: { 'content-type': 'application/json', ...headers } }
    : { headers }
  return send(options, { method, url, signal, ...sent }, foreignErrorOf)
}

/** Stops the open run of a session, by the route that many servers have: `POST {api}/{session}/stop`. */
export async function postStop(options: HttpServerOptions, sessionId: string, signal: AbortSignal): Promise<void> {
  const url = `${options.api.replace(/\/+$/, '')}/${encodeURIComponent(sessionId)}/stop`
  await (await request(options, { url, body: {}, signal })).body?.cancel()
}

/** Longest part of a foreign error text that an error message contains, in characters. */
const MAX_ERROR_TEXT = 300

/**
 * Reads the error reply of a foreign server: JSON with `code` and `message`, at the top or in `error`, or plain text. Only a Millrace server says
 * whether a retry may succeed, so the status decides.
 */
async function foreignErrorOf(reply: Response): Promise<RequestError> {
  const { status } = reply
  const text = await reply.text().catch(() => '')
  let body: { readonly [key: string]: unknown }
  try {
    body = Object(JSON.parse(text))
  } catch {
    body = { message: text.trimStart().startsWith('<') ? undefined : text }
  }
  const { error } = body
  const { code, message: inner } = isObject(error) ? error : body
  const message = inner ?? error
  return new RequestError(
    {
      code: typeof code === 'string' ? code : `http_${status}`,
      message:
        typeof message === 'string' && message
          ? message.slice(0, MAX_ERROR_TEXT)
          : `The server answered with status ${status}.`,
      retryable: status >= 500 || status === 429,
    },
    status,
  )
}
