import type { IncomingMessage, ServerResponse } from 'node:http'
import { memoryStore, systemTimers } from '@millrace/log'
import { type Agent, consoleLogger, type Logger, type Runtime, ValidationError, type Workflow } from '@millrace/runtime'
import { checkRuntimeOptions, safeLogger } from '@millrace/runtime/internal'
import { errorResponseOf, Refusal } from '../errors/refusal.ts'
import { CLIENT_GONE } from '../http/channel.ts'
import { responseOf } from '../http/fetch.ts'
import { type Listening, type ListenOptions, listen } from '../http/listen.ts'
import { isLoopbackAddress } from '../http/loopback-host.ts'
import { pathnameOf, pathOf, requestOf, respond } from '../http/node.ts'
import { errorReply, type WholeReply } from '../http/reply.ts'
import { StaticFiles } from '../http/static.ts'
import type { StreamSettings } from '../stream/stream-settings.ts'
import { checkOptions } from './check-options.ts'
import { Lifetime } from './lifetime.ts'
import { type MillraceOptions, settingsOf } from './options.ts'
import { RequestHandler, routeUnknown } from './request-handler.ts'
import type { ShownBy } from './shown-by.ts'

/** Answers a request. */
export type Handler = (request: Request) => Promise<Response>

/** A server: agents and workflows, for whoever speaks HTTP. `Types` is what its clients see, for the compiler. */
export class App<Types = unknown> {
  /** Never there: what clients see, for the compiler; they take it from `typeof app`. */
  declare readonly '~types'?: Types
  readonly #options: MillraceOptions
  readonly #isGuarded: boolean
  readonly #logger: Logger
  readonly #settings: StreamSettings
  readonly #lifetime: Lifetime
  readonly #requests: RequestHandler

  constructor(options: MillraceOptions) {
    const { timers = systemTimers, logger = consoleLogger, authorize, static: files, cors, onError } = options
    const settings = settingsOf(options, timers)
    this.#options = options
    this.#isGuarded = authorize !== undefined
    this.#settings = settings.stream
    this.#logger = safeLogger(logger)
    this.#lifetime = new Lifetime(options, settings, this.#logger)
    this.#requests = new RequestHandler({
      basePath: settings.basePath,
      lifetime: this.#lifetime,
      files: files === undefined ? undefined : new StaticFiles(files, settings.stream),
      logger: this.#logger,
      ...(authorize && { authorize }),
      ...(cors && { cors }),
      ...(onError && { onError }),
    })
  }

  /** Answers a request. */
  readonly fetch: Handler = async request =>
    responseOf((await this.#requests.handle(request)) ?? refusalReply(routeUnknown()), request)

  /** The same by method, for a route handler of Next: `export const { GET, HEAD, POST, PATCH, DELETE, OPTIONS } = app.handlers`. */
  get handlers(): Readonly<Record<'GET' | 'HEAD' | 'POST' | 'PATCH' | 'DELETE' | 'OPTIONS', Handler>> {
    // Frameworks give more than the request, which is nothing to go by.
    const handle: Handler = request => this.fetch(request)
    return { GET: handle, HEAD: handle, POST: handle, PATCH: handle, DELETE: handle, OPTIONS: handle }
  }

  /** The same for Node and frameworks on it: what is not for this server goes to `next`, if there is one. */
  readonly node = (message: IncomingMessage, response: ServerResponse, next?: (error?: unknown) => void): void => {
    this.#respond(message, response, next).catch(cause => {
      this.#logger.error('a reply could not be written', { cause })
      response.destroy()
    })
  }

  /** Listens on a port; on loopback alone where nobody is asked who they are. */
  listen(options: ListenOptions = {}): Promise<Listening> {
    const start = async () => void (await this.#lifetime.ready())
    return listen({ node: this.node, start, close: () => this.close() }, options, this.#isGuarded)
  }

  /** What it was made of: for who serves or drives the same otherwise. */
  get options(): MillraceOptions {
    return this.#options
  }

  /** The runtime, once the store is open: for code beside the server that starts runs itself. */
  async runtime(): Promise<Runtime> {
    return (await this.#lifetime.ready()).runtime
  }

  /** Tells all who read that they may come back, hands over what is driven here, and closes the store if it was opened here. */
  close(): Promise<void> {
    return this.#lifetime.close()
  }

  async #respond(message: IncomingMessage, response: ServerResponse, next?: () => void): Promise<void> {
    const { method = 'GET' } = message
    const isFor = (path: string) => this.#requests.handles(method, path)
    const path = pathOf(message, isFor)
    // Before anything is made of it: whoever it is for wants its body unread.
    if (next && !isFor(pathnameOf(path))) return next()
    const gone = new AbortController()
    response.once('close', () => gone.abort(CLIENT_GONE))
    let request: Request
    try {
      request = requestOf(message, path, gone.signal)
    } catch (error) {
      const why =
        error instanceof Refusal ? error : new Refusal('request_invalid', 'expected a request that HTTP knows')
      return respond(refusalReply(why), message, response, this.#settings)
    }
    const { remoteAddress } = message.socket
    const reply = await this.#requests.handle(request, remoteAddress !== undefined && !isLoopbackAddress(remoteAddress))
    if (reply === undefined && next) return next()
    respond(reply ?? refusalReply(routeUnknown()), message, response, this.#settings)
  }
}

function refusalReply(why: Refusal): WholeReply {
  const { status, error, headers } = errorResponseOf(why)
  return errorReply(status, error, { 'x-content-type-options': 'nosniff', ...headers })
}

/** Makes a server: a fetch handler, a listener for Node, and what drives its runs, unless others do. Nothing is opened before it is needed. */
export function millrace<
  const Agents extends readonly Agent[] = readonly [],
  const Workflows extends readonly Workflow[] = readonly [],
>(options: MillraceOptions<Agents, Workflows>): App<ShownBy<Agents, Workflows>> {
  if (typeof options !== 'object' || options === null)
    throw new ValidationError('millrace: expected an object of options')
  // Now, and not at the first request.
  checkOptions(options)
  // Any store will do: which one it is, is seen when it is opened.
  checkRuntimeOptions({ ...options, store: memoryStore() })
  return new App(options)
}
