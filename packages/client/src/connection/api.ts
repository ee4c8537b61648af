import type { HttpServerOptions, RawRequest } from '@millrace/dialects/foreign-server'
import { onAbort, send, unlessAborted } from '@millrace/dialects/internal'
import { CLIENT_FAILED, failureOf, RequestError } from '../error/chat-error.ts'

/** Address of a Millrace server, and how to call it. */
export interface ApiOptions extends Partial<HttpServerOptions> {
  /** URL of the Millrace server. @default '/api' */
  readonly api?: string
}

export type ApiRequest = Pick<RawRequest, 'body' | 'headers' | 'signal'>

/** Time limit of a request, in ms. A dead connection reports no error. */
export const TIMEOUT_MS = 20_000
/** Longest `Retry-After` that is obeyed, in ms. */
const MAX_RETRY_AFTER_MS = 60_000

/** The HTTP API of a Millrace server. */
export class Api {
  readonly #options: ApiOptions
  readonly #base: string

  constructor(options: ApiOptions) {
    this.#options = options
    this.#base = (options.api ?? '/api').replace(/\/+$/, '')
  }

  /**
   * Sends a request.
   * @throws a `RequestError` if there is no successful response.
   */
  request(method: string, path: string, request: ApiRequest = {}): Promise<Response> {
    return send(this.#options, { ...request, method, url: this.#base + path }, errorOf)
  }

  /**
   * Sends a value as JSON, and reads the JSON of the reply.
   * @throws a `RequestError` if there is no successful JSON response.
   */
  async ask<T>(method: string, path: string, value?: unknown, signal?: AbortSignal): Promise<T> {
    if (value === undefined) return this.read(method, path, { signal })
    return this.read(method, path, { body: jsonOf(value), headers: { 'content-type': 'application/json' }, signal })
  }

  /**
   * Sends a request, and reads the JSON of the reply.
   * @param timeoutMs Time limit for both, in ms. @default 20_000
   * @throws a `RequestError` if there is no successful JSON response in time.
   */
  async read<T>(
    method: string,
    path: string,
    { signal, headers, body }: ApiRequest,
    timeoutMs = TIMEOUT_MS,
  ): Promise<T> {
    const controller = new AbortController()
    const timer = setTimeout(() => controller.abort(new Error('The server did not answer in time.')), timeoutMs)
    const removeListener = onAbort(signal, () => controller.abort(signal?.reason))
    try {
      const request = { body, headers: { accept: 'application/json', ...headers }, signal: controller.signal }
      const reply = await this.request(method, path, request)
      return await unlessAborted(this.#json<T>(reply), controller.signal)
    } finally {
      clearTimeout(timer)
      removeListener()
    }
  }

  async #json<T>(reply: Response): Promise<T> {
    try {
      return await reply.json()
    } catch (error) {
      if ((error as Error).name !== 'SyntaxError') throw failureOf(error)
      const type = reply.headers.get('content-type') ?? 'something else'
      const message = `Expected JSON from ${this.#base}, found ${type}: check that it is a Millrace server.`
      // Invalid JSON with a JSON content type was cut off on its way.
      throw new RequestError({ code: 'reply_invalid', message, retryable: type.includes('json') }, reply.status)
    }
  }
}

function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch (error) {
    throw failureOf(error, CLIENT_FAILED)
  }
}

/**
 * The path of a session, with `suffix` appended.
 * @throws a `RequestError` if no path can contain the id.
 */
export function sessionPath(sessionId: string, suffix = ''): string {
  // Browsers resolve dot segments.
  if (/^\.{0,2}$|\p{Cs}/u.test(sessionId))
    throw new RequestError({
      code: 'request_invalid',
      message: `Expected a session id in Unicode, not "." or "..", found "${sessionId}".`,
    })
  return `/sessions/${encodeURIComponent(sessionId)}${suffix}`
}

/** Reads the refusal of a Millrace server, which says itself whether and when to retry. */
export async function errorOf(reply: Response): Promise<RequestError> {
  const { status, headers } = reply
  const body = (await reply.json().catch(() => undefined)) as { error?: object } | undefined
  const { code, message, retryable } = (body?.error ?? {}) as { code?: string; message?: string; retryable?: boolean }
  const retryAfterMs = Number(headers.get('retry-after')) * 1000
  return new RequestError(
    {
      code: typeof code === 'string' ? code : `http_${status}`,
      message: typeof message === 'string' ? message : `The server answered with status ${status}.`,
      retryable: retryable ?? (status >= 500 || status === 429),
    },
    status,
    retryAfterMs > 0 ? Math.min(retryAfterMs, MAX_RETRY_AFTER_MS) : undefined,
  )
}
