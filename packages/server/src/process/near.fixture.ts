import { type LogStore, memoryStore, StreamManager } from '@millrace/log'
import { createWorker, type Logger, type Worker } from '@millrace/runtime'
import type { App } from '../app.ts'
import type { Listening } from '../http/listen.ts'
import { AGENTS } from './agents.fixture.ts'
import { freePort, type House } from './house.fixture.ts'
import { serverOf } from './server.fixture.ts'

const QUIET: Logger = { warn() {}, error() {} }
/** Where a worker hands nothing over by then, it lets go, as one does that is killed: what is broken on purpose may be what it waits for. */
const GRACE_MS = 1_000

/** A house in this process: its server loses all connections instead of its life, and its worker hands over. */
export class NearHouse implements House {
  readonly manager: StreamManager
  readonly port: number
  readonly #store: LogStore
  #app: App | undefined
  #listening: Listening | undefined
  #worker: Worker | undefined
  #turn: Promise<void> = Promise.resolve()

  private constructor(store: LogStore, port: number) {
    this.#store = store
    this.port = port
    this.manager = new StreamManager({ store })
  }

  static async open(): Promise<NearHouse> {
    const house = new NearHouse(memoryStore(), await freePort())
    await house.#serve()
    house.#work()
    return house
  }

  killServer(): Promise<void> {
    return this.#inTurn(async () => {
      await this.#stop()
      await this.#serve()
    })
  }

  killWorker(): Promise<void> {
    return this.#inTurn(async () => {
      await this.#worker?.stop()
      this.#work()
    })
  }

  async close(): Promise<void> {
    await this.#inTurn(async () => {
      await this.#stop()
      await this.#worker?.stop()
    })
    await this.manager.close()
    await this.#store.close()
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    this.#turn = this.#turn.then(work)
    return this.#turn
  }

  async #stop(): Promise<void> {
    const closed = new Promise(resolve => this.#listening?.server.close(resolve))
    // Whoever reads is told nothing.
    this.#listening?.server.closeAllConnections()
    await closed
    await this.#app?.close()
  }

  async #serve(): Promise<void> {
    this.#app = serverOf(this.#store, QUIET)
    this.#listening = await this.#app.listen({ port: this.port })
  }

  #work(): void {
    const engine = { pollMs: 20, concurrency: 64, graceMs: GRACE_MS }
    this.#worker = createWorker({
      store: this.#store,
      agents: AGENTS,
      engine,
      backoff: { first: 1, longest: 5 },
      logger: QUIET,
    })
  }
}
