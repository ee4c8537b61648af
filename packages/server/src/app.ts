import { mkdir } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { dirname } from 'node:path'
import { type LogStore, openStore, systemTimers } from '@millrace/log'
import { createRuntime, type Runtime, ValidationError } from '@millrace/runtime'
import { Refusal, toldOf } from './error.ts'
import { callerOf } from './guard/authorize.ts'
import { corsHeaders, preflight } from './guard/cors.ts'
import { Limiter } from './guard/limiter.ts'
import { mustBeLocal } from './guard/loopback.ts'
import { jsonOf } from './http/body.ts'
import { responseOf } from './http/fetch.ts'
import { type Listening, type ListenOptions, listen } from './http/listen.ts'
import { requestOf, respond } from './http/node.ts'
import { type Reply, refused } from './http/reply.ts'
import { fileOf } from './http/static.ts'
import { consoleLogger, DEFAULT_STORE, type MillraceOptions, type Settings, settingsOf } from './options.ts'
import { openApiOf } from './route/openapi.ts'
import { Router } from './route/router.ts'
import { routes } from './route/routes.ts'
import type { Services } from './services.ts'
import { Connections } from './stream/connections.ts'
import { Feeds } from './stream/feeds.ts'
import { Lists } from './stream/lists.ts'

/** A server: agents and workflows, for whoever speaks HTTP. */
export class App {
  readonly #options: MillraceOptions
  readonly #settings: Settings
  readonly #router = new Router(routes)
  readonly #connections: Connections
  readonly #limiter: Limiter
  #services: Promise<Services> | undefined
  #store: Promise<LogStore> | undefined
  #isDraining = false
  #hasWarned = false

  constructor(options: MillraceOptions) {
    const { timers = systemTimers, logger = consoleLogger } = options
    this.#options = options
    this.#settings = settingsOf(options, timers)
    this.#connections = new Connections(this.#settings.stream, logger)
    this.#limiter = new Limiter(this.#settings.limits, timers)
  }

  /** Answers a request. */
  readonly fetch = async (request: Request): Promise<Response> => responseOf(await this.#answer(request))

  /** The same for Node and frameworks on it: what is not for this server goes to `next`, if there is one. */
  readonly node = (message: IncomingMessage, response: ServerResponse, next?: (error?: unknown) => void): void => {
    const gone = new AbortController()
    response.once('close', () => gone.abort())
    let request: Request
    try {
      request = requestOf(message, gone.signal)
    } catch {
      const { status, error } = toldOf(new Refusal('request_invalid', 'expected a request that HTTP knows'))
      respond(refused(status, error), response, false)
      return
    }
    if (next && !this.#isOurs(new URL(request.url))) next()
    else void this.#answer(request).then(reply => respond(reply, response, message.method === 'HEAD'))
  }

  /** Listens on a port; on loopback alone where nobody is asked who they are. */
  async listen(options: ListenOptions = {}): Promise<Listening> {
    await this.#ready()
    return listen(this, options, this.#options.authorize !== undefined)
  }

  /** The runtime, once the store is open: for code beside the server that starts runs itself. */
  async runtime(): Promise<Runtime> {
    return (await this.#ready()).runtime
  }

  /** Tells all who read that they may come back, hands over what is driven here, and closes the store if it was opened here. */
  async close(): Promise<void> {
    this.#isDraining = true
    this.#connections.drain()
    const services = await this.#services?.catch(() => undefined)
    await services?.runtime.close()
    const { store = DEFAULT_STORE } = this.#options
    if (typeof store === 'string') await (await this.#store)?.close()
  }

  #isOurs({ pathname }: URL): boolean {
    const { basePath } = this.#settings
    return (
      pathname === `${basePath}/api` || pathname.startsWith(`${basePath}/api/`) || this.#options.static !== undefined
    )
  }

  async #answer(request: Request): Promise<Reply> {
    const { cors, onError, logger = consoleLogger } = this.#options
    let reply: Reply
    try {
      reply = await this.#reply(request)
    } catch (error) {
      const told = toldOf(error)
      if (told.isOurs) {
        logger.error('a request failed', { method: request.method, path: new URL(request.url).pathname, cause: error })
        try {
          onError?.(error, request)
        } catch (cause) {
          logger.error('onError threw', { cause })
        }
      }
      reply = refused(told.status, told.error, told.headers)
    }
    const beside = { 'x-content-type-options': 'nosniff', ...corsHeaders(cors, request) }
    return { ...reply, headers: { ...beside, ...reply.headers } }
  }

  async #reply(request: Request): Promise<Reply> {
    const { authorize, cors, static: folder } = this.#options
    const url = new URL(request.url)
    if (authorize === undefined) {
      this.#warn()
      mustBeLocal(request, url, cors)
    }
    const asked = preflight(cors, request)
    if (asked) return { status: 204, headers: asked, body: undefined }
    const path = this.#path(url)
    const found = path === undefined ? undefined : this.#router.find(request.method, path)
    if (found === undefined) {
      const file = path === undefined && folder !== undefined ? await fileOf(folder, url.pathname, request) : undefined
      if (file) return file
      throw new Refusal('route_unknown', 'there is nothing here: see /api/openapi.json')
    }
    if (this.#isDraining && found.route.action !== 'health') {
      throw new Refusal('draining', 'the server is going down: come back', {
        retryable: true,
        headers: { 'retry-after': '1', connection: 'close' },
      })
    }
    const { route, params } = found
    const services = await this.#ready()
    const caller = await services.authorize(request, route.action, params['sessionId'])
    this.#limiter.request(caller.principal)
    const body = route.body ? parsed(route.body, await jsonOf(request, this.#settings.limits.bodyBytes)) : undefined
    return route.handle({ services, request, url, params, caller, body: body as never })
  }

  /** The path below `/api`; undefined where it is elsewhere. */
  #path({ pathname }: URL): string | undefined {
    const start = `${this.#settings.basePath}/api`
    return pathname.startsWith(`${start}/`) ? pathname.slice(start.length) : undefined
  }

  #warn(): void {
    if (this.#hasWarned) return
    this.#hasWarned = true
    const { logger = consoleLogger } = this.#options
    logger.warn('millrace: there is no authorize, so this server answers this machine alone', {})
  }

  #ready(): Promise<Services> {
    this.#services ??= this.#open().catch(error => {
      // Whoever asks next tries again.
      this.#services = undefined
      throw error
    })
    return this.#services
  }

  async #open(): Promise<Services> {
    const {
      store = DEFAULT_STORE,
      agents = [],
      workflows = [],
      logger = consoleLogger,
      authorize,
      context,
    } = this.#options
    // Who said nothing of a store need not make a place for it.
    if (store === DEFAULT_STORE) await mkdir(dirname(DEFAULT_STORE.replace('sqlite:', '')), { recursive: true })
    this.#store = typeof store === 'string' ? openStore(store) : Promise.resolve(store)
    const { limits, stream, basePath } = this.#settings
    const { limits: _, stream: __, basePath: ___, ...options } = this.#options as MillraceOptions
    const runtime = createRuntime({ ...options, store: await this.#store })
    const { manager } = runtime
    const app = this
    return {
      runtime,
      manager,
      agents,
      workflows,
      feeds: new Feeds(manager),
      lists: new Lists(manager, stream.timers),
      connections: this.#connections,
      limiter: this.#limiter,
      limits,
      settings: stream,
      logger,
      get isDraining() {
        return app.#isDraining
      },
      openApi: () => openApiOf(routes, basePath),
      authorize: (request, action, sessionId) =>
        callerOf(authorize, { request, action, ...(sessionId !== undefined && { sessionId }) }),
      contextOf: async (request, { principal }, body) => context?.({ request, principal, body }),
    }
  }
}

/** A body as its schema has it; throws where it does not fit, with the place. */
function parsed(
  schema: { safeParse(value: unknown): ReturnType<import('zod').ZodType['safeParse']> },
  value: unknown,
): unknown {
  const { success, data, error } = schema.safeParse(value)
  if (success) return data
  const [issue] = error.issues
  const place = ['body', ...(issue?.path ?? []).map(String)].join('.')
  throw new Refusal('body_invalid', `${place}: ${issue?.message ?? 'does not fit'}`)
}

/** Makes a server: a fetch handler, a listener for Node, and what drives its runs, unless others do. Nothing is opened before it is needed. */
export function millrace(options: MillraceOptions): App {
  if (typeof options !== 'object' || options === null)
    throw new ValidationError('millrace: expected an object of options')
  return new App(options)
}
