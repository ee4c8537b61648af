// From a request to its reply: the checks that every one passes, in one order, and what is said where one does not.

import type { Logger } from '@millrace/runtime'
import type { Caller } from '../auth/authorize.ts'
import { corsHeaders, preflight } from '../auth/cors.ts'
import { mustBeLocal, notHere } from '../auth/loopback.ts'
import { draining, Refusal, toldOf } from '../errors/refusal.ts'
import { PIECE_BYTES, paced, piecesOf } from '../http/paced-reply.ts'
import { type Headers, type Reply, refused } from '../http/reply.ts'
import { SharedBody } from '../http/shared-body.ts'
import type { StaticFiles } from '../http/static.ts'
import { handled, mostBytesOf } from '../routing/route.ts'
import { Router } from '../routing/router.ts'
import type { Services } from '../routing/services.ts'
import type { Lifetime } from './lifetime.ts'
import type { MillraceOptions } from './options.ts'
import { routes } from './routes.ts'

export interface GateOptions extends Pick<MillraceOptions, 'authorize' | 'cors' | 'onError'> {
  readonly basePath: string
  readonly lifetime: Lifetime
  readonly files: StaticFiles | undefined
  readonly logger: Logger
}

/** Lets requests in, to a route or a file. */
export class Gate {
  readonly #options: GateOptions
  readonly #router = new Router(routes)
  #hasWarned = false

  constructor(options: GateOptions) {
    this.#options = options
  }

  /** Whether a request may be for this server: what is not can go to somebody else, its body unread. */
  isFor(method: string, pathname: string): boolean {
    const path = this.#below(pathname)
    if (path === undefined) return false
    return isApi(path) || (this.#options.files !== undefined && (method === 'GET' || method === 'HEAD'))
  }

  /** The reply to a request; undefined where there is neither a route nor a file. One that is far came from another machine, as far as is known. */
  async answer(request: Request, isFar = false): Promise<Reply | undefined> {
    const { cors, files } = this.#options
    const url = new URL(request.url)
    const path = this.#below(url.pathname)
    if (path === undefined || !this.isFor(request.method, url.pathname)) return undefined
    let beside: Headers = { 'x-content-type-options': 'nosniff' }
    let reply: Reply
    try {
      const file = isApi(path) ? undefined : await files?.file(path, request)
      // What is not here may be somebody else's, who answers whom they like.
      if (!isApi(path) && file === undefined) return undefined
      // Before anything is done: code of the server's own may decide it, and throw.
      beside = { ...beside, ...corsHeaders(cors, request) }
      this.#mustBeNear(request, url, isFar)
      reply = file ?? (await this.#routed(request, url, path))
    } catch (error) {
      reply = this.#told(error, request)
    }
    return { ...reply, headers: { ...beside, ...reply.headers } }
  }

  async #routed(request: Request, url: URL, path: string): Promise<Reply> {
    const { cors, lifetime } = this.#options
    const asked = preflight(cors, request)
    if (asked) return { status: 204, headers: asked, body: undefined }
    const found = this.#router.find(request.method, path.slice('/api'.length))
    if (found === undefined) throw nothingHere()
    const { route, params } = found
    if (lifetime.isDraining) throw draining()
    const services = await (route.action === 'health' ? lifetime.readySoon() : lifetime.ready())
    const body = request.body === null ? undefined : new SharedBody(request, mostBytesOf(route, services.limits))
    const seen = body?.request ?? request
    const caller = await services.authorize(seen, route.action, params['sessionId'])
    // Whoever looks at the body to say who somebody is looks again when asked again.
    const isKept = body?.isWanted ?? false
    services.limiter.request(caller.principal)
    const held = services.limiter.hold(caller.principal)
    try {
      // A file that nobody has looked at is nobody else's to read.
      const taken = route.takesBytes && !isKept ? request : seen
      const reply = await handled(route, { services, request: taken, url, params, caller, held })
      return request.method === 'HEAD' ? reply : boundedBy(services, caller, reply)
    } finally {
      held.release()
      if (!isKept) body?.forget()
    }
  }

  /** What went wrong, as who asked is told; what is the server's own fault, its logger and `onError` are. */
  #told(error: unknown, request: Request): Reply {
    const { logger, lifetime } = this.#options
    const { isOurs, ...told } = toldOf(error)
    // What was under way when the server went fails because of that: a store that is closed answers nobody.
    const { status, error: said, headers } = isOurs && lifetime.isDraining ? toldOf(draining()) : told
    // Whatever fails once nobody waits for it any more is no fault.
    if (isOurs && !request.signal.aborted) {
      const { pathname } = new URL(request.url)
      logger.error('a request failed', { method: request.method, path: pathname, cause: error })
      void this.#tell(error, request).catch(cause => logger.error('onError threw', { cause }))
    }
    return refused(status, said, headers)
  }

  async #tell(error: unknown, request: Request): Promise<void> {
    await this.#options.onError?.(error, request)
  }

  /** What follows the base path; undefined where a path is elsewhere. */
  #below(pathname: string): string | undefined {
    const { basePath } = this.#options
    return pathname.startsWith(`${basePath}/`) ? pathname.slice(basePath.length) : undefined
  }

  /** Throws where nobody is asked who they are, and somebody is not on this machine. */
  #mustBeNear(request: Request, url: URL, isFar: boolean): void {
    const { authorize, cors, logger } = this.#options
    if (authorize !== undefined) return
    if (!this.#hasWarned) logger.warn(NOBODY_IS_ASKED, {})
    this.#hasWarned = true
    if (isFar) throw notHere()
    mustBeLocal(request, url, cors)
  }
}

/** A reply that is counted for as long as it is under way, where it is large, and written as the network takes it (law 8). */
function boundedBy({ limiter, settings }: Services, { principal }: Caller, reply: Reply): Reply {
  if ('stream' in reply || reply.body === undefined || Buffer.byteLength(reply.body) <= PIECE_BYTES) return reply
  const body = typeof reply.body === 'string' ? Buffer.from(reply.body) : reply.body
  const held = limiter.hold(principal)
  held.add(body.byteLength)
  return paced(reply, piecesOf(body), settings, held.release)
}

const NOBODY_IS_ASKED =
  'millrace: there is no authorize, so this server answers this machine alone; app.fetch cannot tell from where it is asked: what it is mounted in must listen on loopback'

const isApi = (path: string): boolean => path === '/api' || path.startsWith('/api/')

/** There is neither a route nor a file. */
export const nothingHere = (): Refusal => new Refusal('route_unknown', 'there is nothing here: see /api/openapi.json')
