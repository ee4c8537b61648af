import type { Backoff } from '@millrace/protocol/retry'
import { CLIENT_FAILED, failureOf, RequestError } from '../error/request-error.ts'

/** A value, or what gives it, each time it is needed. */
export type Computed<T> = T | (() => T | Promise<T>)

export interface ApiOptions {
  /** Where the server is; `/api`, if nothing is said. */
  readonly api?: string
  readonly headers?: Computed<HeadersInit>
  readonly credentials?: Computed<RequestCredentials>
  /** In place of the global `fetch`. */
  readonly fetch?: typeof fetch
}

export interface ApiRequest {
  readonly body?: BodyInit
  readonly headers?: Record<string, string>
  readonly signal?: AbortSignal | undefined
}

/** How requests and connections are retried, if the page does not say. */
export const BACKOFF: Backoff = { first: 250, longest: 10_000 }
/** How long a reply to a question may take, in milliseconds: a connection that is dead says nothing at all. */
export const LATE_MS = 20_000
/** How long a server may ask to be left alone, in milliseconds. */
const MOST_AFTER_MS = 60_000
/** A credential that has run out is asked for once more. */
const UNAUTHORIZED = 401

/** What a value is now. */
export const computed = async <T>(given: Computed<T>): Promise<T> =>
  typeof given === 'function' ? (given as () => T | Promise<T>)() : given

/** Calls when a signal is aborted, at once where it is, until the returned function is called. */
function onAbort(signal: AbortSignal | undefined, run: () => void): () => void {
  signal?.addEventListener('abort', run)
  if (signal?.aborted) run()
  return () => signal?.removeEventListener('abort', run)
}

/** What comes of it, or why it was aborted, as soon as it is: not all that is given a signal heeds it. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = onAbort(signal, () => reject(failureOf(signal?.reason)))
    work.then(resolve, reject).finally(leave)
  })
}

/** The server's HTTP API. */
export class Api {
  readonly #options: ApiOptions
  readonly #base: string

  constructor(options: ApiOptions) {
    this.#options = options
    this.#base = (options.api ?? '/api').replace(/\/+$/, '')
  }

  /** The reply to a request; throws a `RequestError` for all that is none or says no. */
  async request(method: string, path: string, asking: ApiRequest = {}): Promise<Response> {
    const ask = () => unlessAborted(this.#request(method, path, asking), asking.signal)
    try {
      return await ask()
    } catch (error) {
      const { status } = failureOf(error)
      if (status !== UNAUTHORIZED || typeof this.#options.headers !== 'function') throw error
    }
    return ask()
  }

  async #request(method: string, path: string, { body, headers, signal }: ApiRequest): Promise<Response> {
    const { fetch = globalThis.fetch } = this.#options
    const who = await this.#who(headers)
    try {
      const reply = await fetch(this.#base + path, {
        method,
        ...who,
        cache: 'no-store',
        ...(body !== undefined && { body }),
        ...(signal && { signal }),
      })
      if (reply.ok) return reply
      throw await refusalOf(reply)
    } catch (error) {
      throw failureOf(error)
    }
  }

  /** Who asks. What gives that goes to the network itself, as like as not: it may do better the next time. */
  async #who(more: ApiRequest['headers']): Promise<{ headers: Headers; credentials: RequestCredentials }> {
    try {
      const { headers: own = {}, credentials = 'same-origin' } = this.#options
      const headers = new Headers(await computed(own))
      for (const name in more) headers.set(name, more[name] as string)
      return { headers, credentials: await computed(credentials) }
    } catch (error) {
      throw failureOf(error, 'headers_failed', true)
    }
  }

  /** Asks with a value, and reads the JSON of the reply. */
  async ask<T>(method: string, path: string, value?: unknown, signal?: AbortSignal): Promise<T> {
    if (value === undefined) return this.read(method, path, { signal })
    return this.read(method, path, { body: jsonOf(value), headers: { 'content-type': 'application/json' }, signal })
  }

  /** Asks, and reads the JSON of the reply, which may take only so long. */
  async read<T>(
    method: string,
    path: string,
    { signal, headers, ...asking }: ApiRequest,
    lateMs = LATE_MS,
  ): Promise<T> {
    const over = new AbortController()
    const timer = setTimeout(() => over.abort(new Error('The server did not answer in time.')), lateMs)
    const leave = onAbort(signal, () => over.abort(signal?.reason))
    try {
      const accepting = { accept: 'application/json', ...headers }
      const reply = await this.request(method, path, { ...asking, headers: accepting, signal: over.signal })
      return await unlessAborted(this.#json<T>(reply), over.signal)
    } finally {
      clearTimeout(timer)
      leave()
    }
  }

  async #json<T>(reply: Response): Promise<T> {
    try {
      return await reply.json()
    } catch (error) {
      if ((error as Error).name !== 'SyntaxError') throw failureOf(error)
      const type = reply.headers.get('content-type') ?? 'something else'
      const message = `Expected JSON from ${this.#base}, got ${type}: is it a Millrace server?`
      // What says that it is JSON was cut short on its way.
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

/** The path of a session, and of what is below it; throws where no path can hold its name. */
export function sessionPath(sessionId: string, below = ''): string {
  // A browser takes dots for a way up.
  if (/^\.{0,2}$|\p{Cs}/u.test(sessionId))
    throw new RequestError({ code: 'request_invalid', message: `No session can be called "${sessionId}".` })
  return `/sessions/${encodeURIComponent(sessionId)}${below}`
}

/** What a reply refuses with. */
export async function refusalOf(reply: Response): Promise<RequestError> {
  const { status } = reply
  const told = (await reply.json().catch(() => undefined)) as { error?: { code?: unknown } } | undefined
  const { code, message, retryable } = (told?.error ?? {}) as { code?: string; message?: string; retryable?: boolean }
  const after = Number(reply.headers.get('retry-after')) * 1000
  return new RequestError(
    {
      code: typeof code === 'string' ? code : `http_${status}`,
      message: typeof message === 'string' ? message : `The server answered with status ${status}.`,
      retryable: retryable ?? (status >= 500 || status === 429),
    },
    status,
    after > 0 ? Math.min(after, MOST_AFTER_MS) : undefined,
  )
}
