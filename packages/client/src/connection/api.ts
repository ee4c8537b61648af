import { failureOf, RequestError } from '../error.ts'

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

export interface Asking {
  readonly body?: BodyInit
  readonly headers?: Record<string, string>
  readonly signal?: AbortSignal | undefined
}

/** How long a reply to a question may take, in milliseconds: a connection that is dead says nothing at all. */
const LATE_MS = 20_000
/** A credential that has run out is asked for once more. */
const UNAUTHORIZED = 401

const computed = <T>(given: Computed<T>): T | Promise<T> =>
  typeof given === 'function' ? (given as () => T | Promise<T>)() : given

/** The server's HTTP API. */
export class Api {
  readonly #options: ApiOptions
  readonly #base: string

  constructor(options: ApiOptions) {
    this.#options = options
    this.#base = (options.api ?? '/api').replace(/\/+$/, '')
  }

  /** The reply to a request; throws a `RequestError` for all that is none or says no. */
  async request(method: string, path: string, asking: Asking = {}): Promise<Response> {
    try {
      return await this.#request(method, path, asking)
    } catch (error) {
      const failure = failureOf(error)
      if (failure.status !== UNAUTHORIZED || typeof this.#options.headers !== 'function') throw failure
    }
    return this.#request(method, path, asking)
  }

  async #request(method: string, path: string, { body, headers, signal }: Asking): Promise<Response> {
    try {
      const { fetch = globalThis.fetch, headers: own = {}, credentials = 'same-origin' } = this.#options
      const all = new Headers(await computed(own))
      for (const name in headers) all.set(name, headers[name] as string)
      const reply = await fetch(this.#base + path, {
        method,
        headers: all,
        credentials: await computed(credentials),
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

  /** Asks, and reads the JSON of the reply. */
  async ask<T>(method: string, path: string, value?: unknown, signal?: AbortSignal): Promise<T> {
    const headers = { accept: 'application/json', ...(value !== undefined && { 'content-type': 'application/json' }) }
    const body = value === undefined ? {} : { body: JSON.stringify(value) }
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(new Error('The server did not answer in time.')), LATE_MS)
    try {
      const either = signal ? AbortSignal.any([signal, late.signal]) : late.signal
      const reply = await this.request(method, path, { headers, signal: either, ...body })
      return (await reply.json()) as T
    } catch (error) {
      throw failureOf(error)
    } finally {
      clearTimeout(timer)
    }
  }
}

/** The path of a session, and of what is below it. */
export const sessionPath = (sessionId: string, below = ''): string =>
  `/sessions/${encodeURIComponent(sessionId)}${below}`

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
    after > 0 ? after : undefined,
  )
}
