// Handles a request: runs the checks of every request in a fixed order, then the route, and turns errors into replies.

import type { Logger } from '@millrace/runtime'
import { callerOf } from '../auth/authorize.ts'
import { corsHeaders, preflight } from '../auth/cors.ts'
import { assertOwnPage } from '../auth/cross-origin.ts'
import type { ByteCount } from '../auth/limiter.ts'
import { assertLocal, hostForbidden } from '../auth/loopback.ts'
import { draining, errorResponseOf, HttpError, replyTooLarge } from '../errors/http-error.ts'
import { jsonBody } from '../http/json-body.ts'
import { PIECE_BYTES, pacedReply, piecesOf } from '../http/paced-reply.ts'
import { type CompleteReply, errorReply, type Headers, type JsonReply, type ReadyReply } from '../http/reply.ts'
import { SharedBody } from '../http/shared-body.ts'
import type { StaticFiles } from '../http/static.ts'
import { withTimedBody } from '../http/timed-body.ts'
import { bodyLimitOf, callRoute, type Route } from '../routing/route.ts'
import { Router } from '../routing/router.ts'
import type { Services } from '../routing/services.ts'
import type { Lifetime } from './lifetime.ts'
import type { MillraceOptions } from './options.ts'
import { routes } from './routes.ts'

export interface RequestHandlerOptions extends Pick<MillraceOptions, 'authorize' | 'cors' | 'onError'> {
  readonly basePath: string
  readonly lifetime: Lifetime
  readonly files: StaticFiles | undefined
  readonly logger: Logger
}

/** Dispatches requests to routes and static files. */
export class RequestHandler {
  readonly #options: RequestHandlerOptions
  readonly #router = new Router(routes)
  readonly #warned = new Set<string>()

  constructor(options: RequestHandlerOptions) {
    this.#options = options
  }

  /** Whether a request may be for this server. If not, a framework can pass it on with its body unread. */
  handles(method: string, pathname: string): boolean {
    const path = this.#pathBelowBase(pathname)
    if (path === undefined) return false
    return isApi(path) || (this.#options.files !== undefined && (method === 'GET' || method === 'HEAD'))
  }

  /**
   * The reply to a request; undefined if there is neither a route nor a file. `isRemote`: whether it came from another machine;
   * undefined where the address of the client is unknown.
   */
  async handle(request: Request, isRemote?: boolean): Promise<ReadyReply | undefined> {
    const { cors, files } = this.#options
    const url = new URL(request.url)
    const path = this.#pathBelowBase(url.pathname)
    if (path === undefined || !this.handles(request.method, url.pathname)) return undefined
    let headers: Headers = { 'x-content-type-options': 'nosniff' }
    let reply: ReadyReply
    try {
      const file = isApi(path) ? undefined : await files?.file(path, request)
      // Another handler may answer the path.
      if (!isApi(path) && file === undefined) return undefined
      // First of all, since the app's `cors` function may throw.
      headers = { ...headers, ...corsHeaders(cors, request) }
      this.#assertLocal(request, url, isRemote)
      assertOwnPage(request, url, cors)
      reply = file ?? (await this.#callRoute(request, url, path))
    } catch (error) {
      reply = this.#errorReply(error, request)
    }
    return { ...reply, headers: { ...headers, ...reply.headers } }
  }

  async #callRoute(untimed: Request, url: URL, path: string): Promise<ReadyReply> {
    const { cors, lifetime } = this.#options
    const preflightHeaders = preflight(cors, untimed)
    if (preflightHeaders) return { status: 204, headers: preflightHeaders, body: undefined }
    const found = this.#router.find(untimed.method, path.slice('/api'.length))
    if (found === undefined) throw routeUnknown()
    const { route, params } = found
    if (route.ignoresStore) return this.#callWithoutStore(route, untimed)
    if (lifetime.isDraining) throw draining()
    const services = await (route.action === 'health' ? lifetime.readyWithTimeout() : lifetime.ready())
    const request = withTimedBody(untimed, services.settings.timers, services.limits)
    const body = request.body === null ? undefined : new SharedBody(request, bodyLimitOf(route, services.limits))
    const sharedRequest = body?.request ?? request
    const caller = await services.authorize(sharedRequest, route.action, params['sessionId'])
    // If `authorize` read the body, it reads it again on each recheck: the body stays buffered.
    const staysBuffered = body?.wasRead ?? false
    services.limiter.countRequest(caller.principal)
    const bodyBytes = services.limiter.countBytes(caller.principal)
    const replyBytes = services.limiter.countBytes(caller.principal)
    let isSending = false
    try {
      // An upload that `authorize` did not read need not be buffered.
      const routeRequest = route.takesBytes && !staysBuffered ? request : sharedRequest
      const call = { services, request: routeRequest, url, params, caller, bodyBytes, replyBytes }
      const reply = await callRoute(route, call)
      bodyBytes.release()
      if ('stream' in reply) return reply
      const complete = 'value' in reply ? await serialized(services, replyBytes, reply) : reply
      const bytes = complete.body === undefined ? 0 : Buffer.byteLength(complete.body)
      if (request.method === 'HEAD' || bytes <= PIECE_BYTES) return complete
      isSending = true
      return sentWithCount(services, replyBytes, complete)
    } finally {
      bodyBytes.release()
      if (!isSending) replyBytes.release()
      if (!staysBuffered) body?.release()
    }
  }

  /** Calls a route that needs neither the store nor anything that is opened with it. */
  async #callWithoutStore(route: Route, request: Request): Promise<ReadyReply> {
    const { authorize, lifetime } = this.#options
    const { principal } = await callerOf(authorize, { request, action: route.action })
    lifetime.limiter.countRequest(principal)
    const { value, ...head } = (await route.handle({} as never)) as JsonReply
    return { ...head, body: await jsonBody(value, () => {}) }
  }

  /** The reply to an error. Errors that the server caused go to the logger and `onError`. */
  #errorReply(error: unknown, request: Request): CompleteReply {
    const { logger, lifetime } = this.#options
    const { isServerFault, ...response } = errorResponseOf(error)
    // Requests in flight fail because the server closes its store: the client should retry.
    const {
      status,
      error: body,
      headers,
    } = isServerFault && lifetime.isDraining ? errorResponseOf(draining()) : response
    // An error after the client left is not reported.
    if (isServerFault && !request.signal.aborted) {
      const { pathname } = new URL(request.url)
      logger.error('a request failed', { method: request.method, path: pathname, cause: error })
      void this.#reportError(error, request).catch(cause => logger.error('onError threw', { cause }))
    }
    return errorReply(status, body, headers)
  }

  async #reportError(error: unknown, request: Request): Promise<void> {
    await this.#options.onError?.(error, request)
  }

  /** The path after the base path; undefined if the path is outside of it. */
  #pathBelowBase(pathname: string): string | undefined {
    const { basePath } = this.#options
    return pathname.startsWith(`${basePath}/`) ? pathname.slice(basePath.length) : undefined
  }

  /** Without `authorize`, only local requests are accepted. @throws `host_forbidden` or `origin_forbidden` */
  #assertLocal(request: Request, url: URL, isRemote: boolean | undefined): void {
    const { authorize, cors, logger } = this.#options
    if (authorize !== undefined) return
    const warning = isRemote === undefined ? UNKNOWN_ADDRESS_WARNING : NO_AUTHORIZE_WARNING
    if (!this.#warned.has(warning)) logger.warn(warning, { code: AUTHORIZE_MISSING })
    this.#warned.add(warning)
    if (isRemote) throw hostForbidden()
    assertLocal(request, url, cors)
  }
}

/** Serializes a reply, and counts its bytes as they are written. @throws `reply_too_large` or `bytes_limit` */
async function serialized(
  { limits: { replyBytes: limit } }: Services,
  replyBytes: ByteCount,
  { value, ...head }: JsonReply,
): Promise<CompleteReply> {
  let written = 0
  const body = await jsonBody(value, bytes => {
    written += bytes
    if (written > limit) throw replyTooLarge(limit)
    // The route has counted what it read for the reply. Small replies are not counted.
    if (written > Math.max(replyBytes.bytes, PIECE_BYTES)) replyBytes.add(written - replyBytes.bytes)
  })
  return { ...head, body }
}

/** Writes a large reply at the pace of the network, and counts its bytes until it is sent (law 8). @throws `bytes_limit` */
function sentWithCount({ settings }: Services, replyBytes: ByteCount, reply: CompleteReply): ReadyReply {
  const body = typeof reply.body === 'string' ? Buffer.from(reply.body) : (reply.body ?? new Uint8Array())
  try {
    replyBytes.settle(body.byteLength)
  } catch (error) {
    replyBytes.release()
    throw error
  }
  return pacedReply(reply, piecesOf(body), settings, replyBytes.release)
}

/** Code of the warning about a missing `authorize` option. */
export const AUTHORIZE_MISSING = 'authorize_missing'

const NO_AUTHORIZE_WARNING =
  'millrace: no authorize option, so this server answers only requests from this machine. To serve other machines, set the authorize option.'
const UNKNOWN_ADDRESS_WARNING = `${NO_AUTHORIZE_WARNING} app.fetch does not see the address of the client: a server that mounts it must listen on loopback`

const isApi = (path: string): boolean => path === '/api' || path.startsWith('/api/')

/** The error for a path without a route or a file. */
export const routeUnknown = (): HttpError =>
  new HttpError('route_unknown', 'path: expected a route of this API: see /api/openapi.json')
