import { type LogStore, memoryStore, openStore, StreamManager } from '@millrace/log'
import { createWorker, type Logger, type Worker } from '@millrace/runtime'
import { type App, type Listening, millrace } from '@millrace/server'
import { AGENTS } from './agents.fixture.ts'

/** Short, so that silence is soon known for what it is. */
const HEARTBEAT_MS = 400

const QUIET: Logger = { warn() {}, error() {} }

/** A server and who drives its runs, in this process; the server may go away, and comes back on its port. */
export class House {
  readonly manager: StreamManager
  port = 0
  /** How often the server was away. */
  away = 0
  readonly #store: LogStore
  readonly #worker: Worker
  #app: App | undefined
  #listening: Listening | undefined
  #turn: Promise<void> = Promise.resolve()

  private constructor(store: LogStore) {
    this.#store = store
    this.manager = new StreamManager({ store })
    this.#worker = createWorker({
      store,
      agents: AGENTS,
      engine: { pollMs: 20, concurrency: 128 },
      backoff: { first: 1, longest: 5 },
      logger: QUIET,
    })
  }

  static async open(url?: string): Promise<House> {
    const house = new House(url === undefined ? memoryStore() : await openStore(url))
    await house.#serve()
    return house
  }

  /** The server goes away without a word, and another comes after a while. */
  restart(until: Promise<void>): Promise<void> {
    this.#turn = this.#turn.then(async () => {
      this.away++
      await this.#stop()
      await until
      await this.#serve()
    })
    return this.#turn
  }

  async close(): Promise<void> {
    await this.#turn
    await this.#stop()
    await this.#worker.stop()
    await this.manager.close()
    await this.#store.close()
  }

  async #stop(): Promise<void> {
    const closed = new Promise(resolve => this.#listening?.server.close(resolve))
    this.#listening?.server.closeAllConnections()
    await closed
    await this.#app?.close()
  }

  async #serve(): Promise<void> {
    this.#app = millrace({
      store: this.#store,
      agents: AGENTS,
      engine: false,
      logger: QUIET,
      limits: { streams: 10_000, requestsPerMinute: 1_000_000 },
      stream: { heartbeatMs: HEARTBEAT_MS, maxBuffered: 4 * 1024, stallMs: 2_000 },
    })
    this.#listening = await this.#app.listen({ port: this.port })
    this.port = this.#listening.port
  }
}
