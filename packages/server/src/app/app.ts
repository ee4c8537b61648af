import type { IncomingMessage, ServerResponse } from 'node:http'
import { memoryStore, systemTimers } from '@millrace/log'
import { type Agent, consoleLogger, type Logger, type Runtime, ValidationError, type Workflow } from '@millrace/runtime'
import { checkRuntimeOptions, safeLogger } from '@millrace/runtime/internal'
import { errorResponseOf, HttpError } from '../errors/http-error.ts'
import { CLIENT_GONE } from '../http/channel.ts'
import { responseOf } from '../http/fetch.ts'
import { type Listening, type ListenOptions, listen } from '../http/listen.ts'
import { isLoopbackAddress } from '../http/loopback-host.ts'
import { pathnameOf, pathOf, requestOf, respond } from '../http/node.ts'
import { type CompleteReply, errorReply } from '../http/reply.ts'
import { StaticFiles } from '../http/static.ts'
import type { StreamSettings } from '../stream/stream-settings.ts'
import type { AppClientTypes } from './app-client-types.ts'
import { checkOptions } from './check-options.ts'
import { Lifetime } from './lifetime.ts'
import { type MillraceOptions, settingsOf } from './options.ts'
import { RequestHandler, routeUnknown } from './request-handler.ts'

/** Answers a request. */
export type Handler = (request: Request) => Promise<Response>

/** A server for agents and workflows over HTTP. `Types` describes them to typed clients. */
export class App<Types = unknown> {
  /** Only a type: clients infer it from `typeof app`. */
  declare readonly '~types'?: Types
  readonly #options: MillraceOptions
  readonly #isGuarded: boolean
  readonly #logger: Logger
  readonly #settings: StreamSettings
  readonly #bodyMs: number
  readonly #lifetime: Lifetime
  readonly #requests: RequestHandler

  constructor(options: MillraceOptions) {
    const { timers = systemTimers, logger = consoleLogger, authorize, static: files, cors, onError } = options
    const settings = settingsOf(options, timers)
    this.#options = options
    this.#isGuarded = authorize !== undefined
    this.#settings = settings.stream
    this.#bodyMs = settings.limits.bodyMs
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

  /** Answers a web `Request`. */
  readonly fetch: Handler = async request =>
    responseOf((await this.#requests.handle(request)) ?? errorReplyOf(routeUnknown()), request)

  /** `fetch` by method, for route handlers of Next.js: `export const { GET, HEAD, POST, PATCH, DELETE, OPTIONS } = app.handlers`. */
  get handlers(): Readonly<Record<'GET' | 'HEAD' | 'POST' | 'PATCH' | 'DELETE' | 'OPTIONS', Handler>> {
    // Frameworks pass further arguments, which are ignored.
    const handle: Handler = request => this.fetch(request)
    return { GET: handle, HEAD: handle, POST: handle, PATCH: handle, DELETE: handle, OPTIONS: handle }
  }

  /** A request listener for Node and its frameworks. Requests for other paths go to `next`, if given. */
  readonly node = (message: IncomingMessage, response: ServerResponse, next?: (error?: unknown) => void): void => {
    this.#respond(message, response, next).catch(cause => {
      this.#logger.error('a reply could not be written', { cause })
      response.destroy()
    })
  }

  /** Listens on a port. Without `authorize`, only on loopback. @throws if the port cannot be bound or the store cannot be opened */
  listen(options: ListenOptions = {}): Promise<Listening> {
    const start = async () => void (await this.#lifetime.ready())
    const app = { node: this.node, bodyMs: this.#bodyMs, start, close: () => this.close() }
    return listen(app, options, this.#isGuarded)
  }

  /** The options of this server, for code that serves or drives the same programs in another way. */
  get options(): MillraceOptions {
    return this.#options
  }

  /** The runtime, once the store is open, for code that starts runs itself. */
  async runtime(): Promise<Runtime> {
    return (await this.#lifetime.ready()).runtime
  }

  /** Asks open streams to reconnect, hands over the runs of this process, and closes the store if it was opened from a URL. */
  close(): Promise<void> {
    return this.#lifetime.close()
  }

  async #respond(message: IncomingMessage, response: ServerResponse, next?: () => void): Promise<void> {
    const { method = 'GET' } = message
    const isServed = (path: string) => this.#requests.handles(method, path)
    const path = pathOf(message, isServed)
    // Before the body is read: another handler needs it unread.
    if (next && !isServed(pathnameOf(path))) return next()
    const disconnect = new AbortController()
    response.once('close', () => disconnect.abort(CLIENT_GONE))
    let request: Request
    try {
      request = requestOf(message, path, disconnect.signal)
    } catch (error) {
      const refusal =
        error instanceof HttpError ? error : new HttpError('request_invalid', 'expected a valid HTTP request')
      return respond(errorReplyOf(refusal), message, response, this.#settings)
    }
    const { remoteAddress } = message.socket
    const reply = await this.#requests.handle(request, remoteAddress !== undefined && !isLoopbackAddress(remoteAddress))
    if (reply === undefined && next) return next()
    respond(reply ?? errorReplyOf(routeUnknown()), message, response, this.#settings)
  }
}

function errorReplyOf(httpError: HttpError): CompleteReply {
  const { status, error, headers } = errorResponseOf(httpError)
  return errorReply(status, error, { 'x-content-type-options': 'nosniff', ...headers })
}

/** Creates a server: a fetch handler, a Node listener, and a runtime that drives its runs. Opens nothing before the first request. @throws for invalid options */
export function millrace<
  const Agents extends readonly Agent[] = readonly [],
  const Workflows extends readonly Workflow[] = readonly [],
>(options: MillraceOptions<Agents, Workflows>): App<AppClientTypes<Agents, Workflows>> {
  if (typeof options !== 'object' || options === null)
    throw new ValidationError('millrace: expected an object of options')
  // Fails now instead of at the first request.
  checkOptions(options)
  // The store is checked when it is opened, so any store will do here.
  checkRuntimeOptions({ ...options, store: memoryStore() })
  return new App(options)
}
