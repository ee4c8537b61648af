// What a server works with, from when it is first needed until it is closed.

import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type LogStore, openStore, systemTimers } from '@millrace/log'
import { createRuntime, type Logger, MillraceError } from '@millrace/runtime'
import { callerOf } from '../auth/authorize.ts'
import { contextOf } from '../auth/context.ts'
import { Limiter } from '../auth/limiter.ts'
import { draining } from '../errors/refusal.ts'
import { withStoreTimeout } from '../routes/store-timeout.ts'
import { openApiOf } from '../routing/openapi.ts'
import type { Services } from '../routing/services.ts'
import { KeyedQueue } from '../sessions/keyed-queue.ts'
import { Connections } from '../stream/connections.ts'
import { SessionLists } from '../stream/session-lists.ts'
import { DEFAULT_STORE, type MillraceOptions, type Settings } from './options.ts'
import { routes } from './routes.ts'

/** Opens what a server works with when it is first asked for, and closes it once. */
export class Lifetime {
  readonly #options: MillraceOptions
  readonly #settings: Settings
  readonly #logger: Logger
  readonly #connections: Connections
  readonly #limiter: Limiter
  #services: Promise<Services> | undefined
  /** The store, where it was opened here. */
  #store: LogStore | undefined
  #closed: Promise<void> | undefined

  constructor(options: MillraceOptions, settings: Settings, logger: Logger) {
    this.#options = options
    this.#settings = settings
    this.#logger = logger
    this.#connections = new Connections(settings.stream, logger)
    this.#limiter = new Limiter(settings.limits, options.timers ?? systemTimers)
  }

  /** Whether it goes, or is gone. */
  get isDraining(): boolean {
    return this.#closed !== undefined
  }

  /** All that routes work with; who asks after it could not be opened tries again. */
  ready(): Promise<Services> {
    if (this.#services === undefined) {
      // What is closed stays closed, and opens no store for whoever comes late.
      if (this.isDraining) return Promise.reject(draining())
      const opening = this.#open()
      this.#services = opening
      opening.catch(() => {
        this.#services = undefined
      })
    }
    return this.#services
  }

  /** The same for who cannot wait: throws where it takes long. */
  readyWithTimeout(): Promise<Services> {
    return withStoreTimeout(this.ready(), this.#settings.stream.timers)
  }

  /** Tells all who read that they may come back, hands over what is driven here, and closes the store if it was opened here. */
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
    const store = await this.#opened()
    const runtime = createRuntime({ ...options, agents, workflows, store, logger: this.#logger })
    const { manager } = runtime
    return {
      runtime,
      manager,
      agents,
      workflows,
      lists: new SessionLists(manager, stream.timers),
      connections: this.#connections,
      limiter: this.#limiter,
      limits,
      creations: new KeyedQueue(),
      settings: stream,
      logger: this.#logger,
      openApi: () => openApiOf(routes),
      authorize: (request, action, sessionId, program) => {
        const about = { ...(sessionId !== undefined && { sessionId }), ...(program && { program }) }
        return callerOf(authorize, { request, action, ...about })
      },
      contextOf: (request, { principal }, body) => contextOf(context, { request, principal, body }),
    }
  }

  async #opened(): Promise<LogStore> {
    const { store = DEFAULT_STORE } = this.#options
    try {
      if (typeof store !== 'string') return await store
      // Who said nothing of a store need not make a place for it.
      if (store === DEFAULT_STORE) await mkdir(dirname(DEFAULT_STORE.replace('sqlite:', '')), { recursive: true })
      this.#store = await openStore(store)
      return this.#store
    } catch (cause) {
      // Its own words may hold a path or an address: they are for the logger.
      throw new MillraceError('store_unavailable', 'the store cannot be opened: try again later', {
        retryable: true,
        cause,
      })
    }
  }
}
