// Where schedules play: a server and workers on one store. They are killed and replaced while many sessions go on at once.

import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { openStore, StreamManager } from '@millrace/log'
import type { Child } from '../../../../scripts/faults/process.ts'
import { Spares } from '../../../../scripts/faults/spares.ts'
import type { Order, Told } from './told.fixture.ts'

/** What a schedule needs of where it plays. */
export interface House {
  /** The port of the server, whichever process that is. */
  readonly port: number
  /** The logs, read from the store itself. */
  readonly manager: StreamManager
  /** Kills the server; resolves when another listens in its place. */
  killServer(): Promise<void>
  /** Kills a worker; resolves when another works in its place. */
  killWorker(which: number): Promise<void>
}

/** What a process runs; the SQLite store looks for its thread beside itself. */
const FILES = {
  process: join(import.meta.dirname, 'process.fixture.ts'),
  worker: join(import.meta.dirname, '../../../log/src/sqlite/worker.ts'),
}

const WORKERS = 2
const SPARES = 2
const LEASE_MS = 350

/**
 * A port that nobody listens on, and nobody is given who does not ask for it: else a connection to the server that is being replaced could be given the port itself,
 * and no other could listen there.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(...PORTS)
    const server = createServer().listen(port, '127.0.0.1')
    const isFree = await new Promise(resolve =>
      server.once('error', () => resolve(false)).once('listening', () => resolve(true)),
    )
    if (!isFree) continue
    await new Promise(resolve => server.close(resolve))
    return port
  }
}

/** Below those that the system gives to whoever asks for any. */
const PORTS = [12_000, 32_000] as const

/** With processes of its own. */
export class ProcessHouse implements House {
  readonly manager: StreamManager
  /** What its processes could not do. */
  readonly complaints: string[] = []
  /** How many were killed. */
  killed = { servers: 0, workers: 0 }
  port = 0
  readonly #url: string
  readonly #close: () => Promise<void>
  readonly #spares = new Spares(FILES, { size: SPARES, make: child => child })
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

  static async open(url: string): Promise<ProcessHouse> {
    const store = await openStore(url)
    const manager = new StreamManager({ store })
    const house = new ProcessHouse(url, manager, async () => {
      await manager.close()
      await store.close()
    })
    house.#server = await house.#start({ do: 'serve', store: url, port: await freePort() })
    for (let n = 0; n < WORKERS; n++) house.#workers.push(await house.#worker())
    return house
  }

  killServer(): Promise<void> {
    // Whoever asks while it is on its way gets the same.
    this.#restart ??= this.#replaceServer().finally(() => {
      this.#restart = undefined
    })
    return this.#restart
  }

  killWorker(which: number): Promise<void> {
    const index = which % WORKERS
    const replacing =
      this.#replacing.get(index) ?? this.#replaceWorker(index).finally(() => this.#replacing.delete(index))
    this.#replacing.set(index, replacing)
    return replacing
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([this.#server, ...this.#workers].map(process => process?.kill9()))
    await this.#spares.stop()
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

  async #start(order: Order): Promise<Child> {
    const child = this.#spares.take()
    await child.send(order)
    const ready = Promise.withResolvers<void>()
    void this.#listen(child, told => {
      if (told.kind === 'logged') this.complaints.push(`${order.do}: ${told.message}`)
      else {
        if (told.port !== undefined) this.port = told.port
        ready.resolve()
      }
    }).catch(error => {
      ready.reject(error)
      if (!this.#isClosed && !String(error).includes('SIGKILL')) this.complaints.push(String(error))
    })
    await ready.promise
    return child
  }

  async #listen(child: Child, hear: (told: Told) => void): Promise<never> {
    for (;;) hear((await child.event<Told>('told')) as Told & { event: string })
  }
}
