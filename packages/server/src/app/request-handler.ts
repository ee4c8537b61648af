// From a request to its reply: the checks that every one passes, in one order, and what is said where one does not.

import type { Logger } from '@millrace/runtime'
import type { Caller } from '../auth/authorize.ts'
import { corsHeaders, preflight } from '../auth/cors.ts'
import { assertLocal, hostForbidden } from '../auth/loopback.ts'
import { draining, errorResponseOf, Refusal } from '../errors/refusal.ts'
import { PIECE_BYTES, pacedReply, piecesOf } from '../http/paced-reply.ts'
import { errorReply, type Headers, type Reply } from '../http/reply.ts'
import { SharedBody } from '../http/shared-body.ts'
import type { StaticFiles } from '../http/static.ts'
import { bodyLimitOf, callRoute } from '../routing/route.ts'
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

/** Lets requests in, to a route or a file. */
export class RequestHandler {
  readonly #options: RequestHandlerOptions
  readonly #router = new Router(routes)
  #hasWarned = false

  constructor(options: RequestHandlerOptions) {
    this.#options = options
  }

  /** Whether a request may be for this server: what is not can go to somebody else, its body unread. */
  handles(method: string, pathname: string): boolean {
    const path = this.#pathBelowBase(pathname)
    if (path === undefined) return false
    return isApi(path) || (this.#options.files !== undefined && (method === 'GET' || method === 'HEAD'))
  }

  /** The reply to a request; undefined where there is neither a route nor a file. One that is far came from another machine, as far as is known. */
  async handle(request: Request, isFar = false): Promise<Reply | undefined> {
    const { cors, files } = this.#options
    const url = new URL(request.url)
    const path = this.#pathBelowBase(url.pathname)
    if (path === undefined || !this.handles(request.method, url.pathname)) return undefined
    let beside: Headers = { 'x-content-type-options': 'nosniff' }
    let reply: Reply
    try {
      const file = isApi(path) ? undefined : await files?.file(path, request)
      // What is not here may be somebody else's, who answers whom they like.
      if (!isApi(path) && file === undefined) return undefined
      // Before anything is done: code of the server's own may decide it, and throw.
      beside = { ...beside, ...corsHeaders(cors, request) }
      this.#assertLocal(request, url, isFar)
      reply = file ?? (await this.#callRoute(request, url, path))
    } catch (error) {
      reply = this.#errorReply(error, request)
    }
    return { ...reply, headers: { ...beside, ...reply.headers } }
  }

  async #callRoute(request: Request, url: URL, path: string): Promise<Reply> {
    const { cors, lifetime } = this.#options
    const preflightHeaders = preflight(cors, request)
    if (preflightHeaders) return { status: 204, headers: preflightHeaders, body: undefined }
    const found = this.#router.find(request.method, path.slice('/api'.length))
    if (found === undefined) throw routeUnknown()
    const { route, params } = found
    if (lifetime.isDraining) throw draining()
    const services = await (route.action === 'health' ? lifetime.readyWithTimeout() : lifetime.ready())
    const body = request.body === null ? undefined : new SharedBody(request, bodyLimitOf(route, services.limits))
    const seen = body?.request ?? request
    const caller = await services.authorize(seen, route.action, params['sessionId'])
    // Whoever looks at the body to say who somebody is looks again when asked again.
    const isKept = body?.isWanted ?? false
    services.limiter.request(caller.principal)
    const held = services.limiter.hold(caller.principal)
    try {
      // A file that nobody has looked at is nobody else's to read.
      const taken = route.takesBytes && !isKept ? request : seen
      const reply = await callRoute(route, { services, request: taken, url, params, caller, held })
      return request.method === 'HEAD' ? reply : withByteCount(services, caller, reply)
    } finally {
      held.release()
      if (!isKept) body?.forget()
    }
  }

  /** What went wrong, as who asked is told; what is the server's own fault, its logger and `onError` are. */
  #errorReply(error: unknown, request: Request): Reply {
    const { logger, lifetime } = this.#options
    const { isServerFault, ...response } = errorResponseOf(error)
    // What was under way when the server went fails because of that: a store that is closed answers nobody.
    const {
      status,
      error: body,
      headers,
    } = isServerFault && lifetime.isDraining ? errorResponseOf(draining()) : response
    // Whatever fails once nobody waits for it any more is no fault.
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

  /** What follows the base path; undefined where a path is elsewhere. */
  #pathBelowBase(pathname: string): string | undefined {
    const { basePath } = this.#options
    return pathname.startsWith(`${basePath}/`) ? pathname.slice(basePath.length) : undefined
  }

  /** Throws where nobody is asked who they are, and somebody is not on this machine. */
  #assertLocal(request: Request, url: URL, isFar: boolean): void {
    const { authorize, cors, logger } = this.#options
    if (authorize !== undefined) return
    if (!this.#hasWarned) logger.warn(NO_AUTHORIZE_WARNING, {})
    this.#hasWarned = true
    if (isFar) throw hostForbidden()
    assertLocal(request, url, cors)
  }
}

/** A reply that is counted for as long as it is under way, where it is large, and written as the network takes it (law 8). */
function withByteCount({ limiter, settings }: Services, { principal }: Caller, reply: Reply): Reply {
  if ('stream' in reply || reply.body === undefined || Buffer.byteLength(reply.body) <= PIECE_BYTES) return reply
  const body = typeof reply.body === 'string' ? Buffer.from(reply.body) : reply.body
  const held = limiter.hold(principal)
  held.add(body.byteLength)
  return pacedReply(reply, piecesOf(body), settings, held.release)
}

const NO_AUTHORIZE_WARNING =
  'millrace: there is no authorize, so this server answers this machine alone; app.fetch cannot tell from where it is asked: what it is mounted in must listen on loopback'

const isApi = (path: string): boolean => path === '/api' || path.startsWith('/api/')

/** There is neither a route nor a file. */
export const routeUnknown = (): Refusal => new Refusal('route_unknown', 'there is nothing here: see /api/openapi.json')
