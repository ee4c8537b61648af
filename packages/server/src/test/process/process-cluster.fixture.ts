import { join } from 'node:path'
import { openStore, StreamManager } from '@millrace/log'
import { ChildPool } from '../../../../../scripts/faults/child-pool.ts'
import type { Child } from '../../../../../scripts/faults/process.ts'
import { freePort } from '../../../../../scripts/faults/sessions/free-port.fixture.ts'
import type { SessionServer } from '../../../../../scripts/faults/sessions/session-server.fixture.ts'
import type { ClusterEvent, ClusterOrder } from './cluster-messages.fixture.ts'

/** The program of a process. */
const FILES = { process: join(import.meta.dirname, 'cluster-process.fixture.ts') }

const WORKERS = 2
const READY_CHILDREN = 2
/** Long enough that a busy machine seldom takes a live worker for a dead one. */
const LEASE_MS = 1_000

/** A server and workers in processes of their own, on one store. Each can be killed, and another process takes its place. */
export class ProcessCluster implements SessionServer {
  readonly manager: StreamManager
  /** Errors that its processes logged. */
  readonly serverErrors: string[] = []
  /** Number of killed processes. */
  killed = { servers: 0, workers: 0 }
  port = 0
  readonly #url: string
  readonly #close: () => Promise<void>
  readonly #pool = new ChildPool(FILES, { size: READY_CHILDREN, wrap: child => child })
  readonly #workers: Child[] = []
  #server: Child | undefined
  #isClosed = false
  #restart: Promise<void> | undefined
  readonly #replacing = new Map<number, Promise<void>>()

  private constructor(url: string, manager: StreamManager, close: () => Promise<void>) {
    this.#url = url
    this.manager = manager
    this.#close = close
  }

  static async open(url: string): Promise<ProcessCluster> {
    const store = await openStore(url)
    const manager = new StreamManager({ store })
    const cluster = new ProcessCluster(url, manager, async () => {
      await manager.close()
      await store.close()
    })
    cluster.#server = await cluster.#start({ do: 'serve', store: url, port: await freePort() })
    for (let n = 0; n < WORKERS; n++) cluster.#workers.push(await cluster.#worker())
    return cluster
  }

  killServer(): Promise<void> {
    // Calls during a restart share it.
    this.#restart ??= this.#replaceServer().finally(() => {
      this.#restart = undefined
    })
    return this.#restart
  }

  killWorker(index: number): Promise<void> {
    const replacing =
      this.#replacing.get(index) ?? this.#replaceWorker(index).finally(() => this.#replacing.delete(index))
    this.#replacing.set(index, replacing)
    return replacing
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.allSettled([this.#restart, ...this.#replacing.values()])
    await Promise.all([this.#server, ...this.#workers].map(process => process?.kill9()))
    await this.#pool.stop()
    await this.#close()
  }

  async #replaceServer(): Promise<void> {
    this.killed.servers++
    await this.#server?.kill9()
    this.#server = await this.#start({ do: 'serve', store: this.#url, port: this.port })
  }

  async #replaceWorker(index: number): Promise<void> {
    this.killed.workers++
    await this.#workers[index]?.kill9()
    this.#workers[index] = await this.#worker()
  }

  #worker(): Promise<Child> {
    return this.#start({ do: 'work', store: this.#url, leaseMs: LEASE_MS })
  }

  async #start(order: ClusterOrder): Promise<Child> {
    const child = this.#pool.take()
    await child.send(order)
    const ready = Promise.withResolvers<void>()
    void this.#listen(child, event => {
      if (event.kind === 'logged') this.serverErrors.push(`${order.do}: ${event.message}`)
      else {
        if (event.port !== undefined) this.port = event.port
        ready.resolve()
      }
    }).catch(error => {
      ready.reject(error)
      if (!this.#isClosed && !String(error).includes('SIGKILL')) this.serverErrors.push(String(error))
    })
    await ready.promise
    return child
  }

  async #listen(child: Child, onEvent: (event: ClusterEvent) => void): Promise<never> {
    for (;;) onEvent((await child.event<ClusterEvent>('cluster')) as ClusterEvent & { event: string })
  }
}
