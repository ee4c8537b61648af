import { type LogStore, memoryStore, openStore, StreamManager } from '../../../packages/log/src/index.ts'
import { type Agent, createWorker, type Logger, type Worker } from '../../../packages/runtime/src/index.ts'
import type { App, Listening } from '../../../packages/server/src/index.ts'
import { freePort } from './free-port.fixture.ts'

/** A server on one port and the workers that drive its runs. Both can be killed and are replaced. */
export interface SessionServer {
  readonly port: number
  /** Reads the logs from the store itself. */
  readonly manager: StreamManager
  /** Kills the server. Resolves when the next one listens on the port. */
  killServer(): Promise<void>
  /** Kills a worker. Resolves when the next one works. */
  killWorker(index: number): Promise<void>
}

/** Options of the servers of all schedules. */
export const SERVER_OPTIONS = {
  engine: false,
  limits: { streams: 10_000, requestsPerMinute: 1_000_000 },
  stream: {
    // Clients connect again after one to three silent heartbeats. Shorter ones make all of them do so at once on a busy machine, which
    // keeps it busy.
    heartbeatMs: 1_000,
    // Small, so that a client that stalls briefly is detached and then reads from the store.
    maxBufferedBytes: 4 * 1024,
    stallMs: 2_000,
    pollMs: 300,
  },
} as const

/** Options of the workers of all schedules. */
export const WORKER_OPTIONS = { backoff: { firstMs: 1, longestMs: 5 } } as const

/** Poll interval of a worker in ms, and its maximum number of concurrent runs. */
export const ENGINE_OPTIONS = { pollMs: 20, concurrency: 128 } as const

/** After this time a worker stops without handing over its runs, like a killed one: a planted bug can prevent the handover. */
const GRACE_MS = 1_000

const QUIET: Logger = { warn() {}, error() {} }

interface Options {
  readonly agents: readonly Agent[]
  /** @default a store in memory */
  readonly url?: string
  createApp(store: LogStore, logger: Logger): App
}

/** A server and a worker in this process. Instead of being killed, the server drops all connections, and the worker hands over. */
export class InProcessServer implements SessionServer {
  readonly manager: StreamManager
  readonly port: number
  /** How often the server was killed. */
  serversKilled = 0
  readonly #store: LogStore
  readonly #options: Options
  #app: App | undefined
  #listening: Listening | undefined
  #worker: Worker
  #last: Promise<void> = Promise.resolve()

  private constructor(store: LogStore, port: number, options: Options) {
    this.#store = store
    this.#options = options
    this.port = port
    this.manager = new StreamManager({ store })
    this.#worker = this.#work()
  }

  static async open(options: Options): Promise<InProcessServer> {
    const store = options.url === undefined ? memoryStore() : await openStore(options.url)
    const server = new InProcessServer(store, await freePort(), options)
    await server.#serve()
    return server
  }

  /** @param away The next server listens only when this resolves. */
  killServer(away?: Promise<void>): Promise<void> {
    return this.#inOrder(async () => {
      this.serversKilled++
      await this.#stop()
      await away
      await this.#serve()
    })
  }

  killWorker(): Promise<void> {
    return this.#inOrder(async () => {
      await this.#worker.stop()
      this.#worker = this.#work()
    })
  }

  async close(): Promise<void> {
    await this.#inOrder(async () => {
      await this.#stop()
      await this.#worker.stop()
    })
    await this.manager.close()
    await this.#store.close()
  }

  #inOrder(work: () => Promise<void>): Promise<void> {
    // A failed step has been reported to its caller. The next ones do not depend on it.
    this.#last = this.#last.catch(() => {}).then(work)
    return this.#last
  }

  async #stop(): Promise<void> {
    const closed = new Promise(resolve => this.#listening?.server.close(resolve))
    this.#listening?.server.closeAllConnections()
    await closed
    await this.#app?.close()
  }

  async #serve(): Promise<void> {
    this.#app = this.#options.createApp(this.#store, QUIET)
    this.#listening = await this.#app.listen({ port: this.port })
  }

  #work(): Worker {
    const { agents } = this.#options
    const engine = { ...ENGINE_OPTIONS, graceMs: GRACE_MS }
    return createWorker({ store: this.#store, agents, engine, ...WORKER_OPTIONS, logger: QUIET })
  }
}
