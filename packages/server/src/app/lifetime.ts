// The services of a server, from the first request until it is closed.

import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type LogStore, openStore, systemTimers } from '@millrace/log'
import { createRuntime, type Logger, MillraceError } from '@millrace/runtime'
import { KeyedQueue } from '@millrace/runtime/internal'
import { callerOf } from '../auth/authorize.ts'
import { contextOf } from '../auth/context.ts'
import { Limiter } from '../auth/limiter.ts'
import { draining } from '../errors/http-error.ts'
import { withStoreTimeout } from '../routes/store-timeout.ts'
import { openApiOf } from '../routing/openapi.ts'
import type { Services } from '../routing/services.ts'
import { StoreProbe } from '../sessions/store-probe.ts'
import { UploadQuota } from '../sessions/upload-quota.ts'
import { Connections } from '../stream/connections.ts'
import { SessionLists } from '../stream/session-lists.ts'
import { DEFAULT_STORE, type MillraceOptions, type Settings } from './options.ts'
import { routes } from './routes.ts'

/** Opens the store and runtime on first use, and closes them once. */
export class Lifetime {
  readonly #options: MillraceOptions
  readonly #settings: Settings
  readonly #logger: Logger
  readonly #connections: Connections
  /** Counts of all principals. */
  readonly limiter: Limiter
  #services: Promise<Services> | undefined
  /** The store, if it was opened from a URL. */
  #store: LogStore | undefined
  #closed: Promise<void> | undefined

  constructor(options: MillraceOptions, settings: Settings, logger: Logger) {
    this.#options = options
    this.#settings = settings
    this.#logger = logger
    this.#connections = new Connections(settings.stream, logger)
    this.limiter = new Limiter(settings.limits, options.timers ?? systemTimers)
  }

  /** Whether the server is shutting down or closed. */
  get isDraining(): boolean {
    return this.#closed !== undefined
  }

  /** The services of routes. After a failure, the next call tries again. */
  ready(): Promise<Services> {
    if (this.#services === undefined) {
      // A closed server opens no store for late requests.
      if (this.isDraining) return Promise.reject(draining())
      const opening = this.#open()
      this.#services = opening
      opening.catch(() => {
        this.#services = undefined
      })
    }
    return this.#services
  }

  /** Same, for health checks. @throws `store_unavailable` after a timeout */
  readyWithTimeout(): Promise<Services> {
    return withStoreTimeout(this.ready(), this.#settings.stream.timers)
  }

  /** Drains the streams, hands over the runs of this process, and closes the store if it was opened from a URL. */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    this.#connections.drain()
    const services = await this.#services?.catch(() => undefined)
    try {
      await services?.runtime.close()
    } finally {
      await this.#store?.close()
    }
  }

  async #open(): Promise<Services> {
    const { agents = [], workflows = [], authorize, context, ...options } = this.#options
    const { limits, stream } = this.#settings
    const store = await this.#openStore()
    const { answerCheckMs } = limits
    const runtime = createRuntime({ ...options, agents, workflows, store, answerCheckMs, logger: this.#logger })
    const { manager } = runtime
    return {
      runtime,
      manager,
      agents,
      workflows,
      lists: new SessionLists(manager, stream.timers),
      connections: this.#connections,
      limiter: this.limiter,
      probe: new StoreProbe(store, stream.timers),
      uploads: new UploadQuota({ manager, limits, logger: this.#logger, now: () => stream.timers.now() }),
      limits,
      creations: new KeyedQueue(),
      settings: stream,
      logger: this.#logger,
      openApi: () => openApiOf(routes),
      authorize: (request, action, sessionId, program) => {
        const target = { ...(sessionId !== undefined && { sessionId }), ...(program && { program }) }
        return callerOf(authorize, { request, action, ...target })
      },
      contextOf: (request, { principal }, body) => contextOf(context, { request, principal, body }),
    }
  }

  async #openStore(): Promise<LogStore> {
    const { store = DEFAULT_STORE } = this.#options
    try {
      if (typeof store !== 'string') return await store
      // Creates the folder of the default store, for its owner alone.
      if (store === DEFAULT_STORE)
        await mkdir(dirname(DEFAULT_STORE.replace('sqlite:', '')), { recursive: true, mode: 0o700 })
      this.#store = await openStore(store)
      return this.#store
    } catch (cause) {
      // The cause may contain a path or an address: it is only logged.
      throw new MillraceError('store_unavailable', 'the store cannot be opened: try again later', {
        retryable: true,
        cause,
      })
    }
  }
}
