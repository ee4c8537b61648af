import type { ChildProcess } from 'node:child_process'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Server, Socket } from 'node:net'
import type { Worker } from 'node:worker_threads'

/** Something that a test opened and has to close. */
type Resource = {
  /** The test that was running when it was opened, if any. */
  readonly test: string | undefined
  readonly isOpen: () => boolean
  readonly name: () => string
}

/** Maximum time in ms that a resource may take to close. Only a failing test waits that long. */
const CLOSE_TIMEOUT_MS = Number(process.env['MILLRACE_GUARD_MS'] ?? 30_000)

/** Timeouts up to this length, in ms, are ignored. */
const SHORT_TIMEOUT_MS = 5_000

/** The real clock, also while a test uses fake timers. */
const { setTimeout, setInterval, performance } = globalThis
const TIMERS = { setTimeout, setInterval }

/**
 * Watches what tests open in this process and what keeps it alive: child processes, worker threads, servers that listen, sockets and
 * long timers. Most are reported by Node's diagnostics channels. For timers the global functions are wrapped.
 */
export class Guard {
  readonly #opened = new Set<Resource>()
  readonly #subscriptions: (readonly [channel: string, listener: (message: unknown) => void])[] = []
  #test: string | undefined

  constructor() {
    this.#on<{ process: ChildProcess }>('child_process', ({ process: child }) => ({
      isOpen: () => child.pid !== undefined && child.exitCode === null && child.signalCode === null,
      name: () => `a child process (pid ${child.pid}: ${child.spawnargs.join(' ').slice(0, 200)})`,
    }))
    this.#on<{ worker: Worker }>('worker_threads', ({ worker }) => ({
      isOpen: () => worker.threadId >= 0,
      name: () => `a worker thread (${worker.threadId})`,
    }))
    this.#on<{ server: Server }>('tracing:net.server.listen:asyncStart', ({ server }) => ({
      isOpen: () => server.listening,
      name: () => `a server that listens on ${JSON.stringify(server.address())}`,
    }))
    this.#on<{ socket: Socket }>('net.client.socket', ({ socket }) => ({
      // An idle connection of a pool, as `fetch` keeps them, does not keep the process alive.
      isOpen: () => !socket.destroyed && hasRef(socket),
      name: () => `a connection to ${socket.remoteAddress}:${socket.remotePort}`,
    }))
    for (const name of ['setTimeout', 'setInterval'] as const) this.#watchTimers(name)
  }

  /** Call when a test begins. Returns a function that lists its open resources at its end. */
  begin(test: string): () => Promise<Resource[]> {
    this.#test = test
    return async () => {
      const left = await this.#left(resource => resource.test === test)
      if (this.#test === test) this.#test = undefined
      return left
    }
  }

  /** Call when the file ends. Returns all open resources. */
  async end(): Promise<Resource[]> {
    for (const [channel, listener] of this.#subscriptions) unsubscribe(channel, listener)
    Object.assign(globalThis, TIMERS)
    return this.#left(() => true)
  }

  #watchTimers(name: keyof typeof TIMERS): void {
    const start = TIMERS[name] as (call: () => void, ms?: number, ...args: unknown[]) => NodeJS.Timeout
    const watched = (call: () => void, ms?: number, ...args: unknown[]) => {
      const timer = start(call, ms, ...args)
      if (name === 'setTimeout' && !(Number(ms) > SHORT_TIMEOUT_MS)) return timer
      const { stack = '' } = new Error()
      this.#opened.add({
        test: this.#test,
        isOpen: () => timer.hasRef() && !(timer as NodeJS.Timeout & { _destroyed?: boolean })._destroyed,
        name: () => `${name} of ${ms} ms, started ${stack.split('\n')[2]?.trim()}`,
      })
      return timer
    }
    Object.assign(globalThis, { [name]: Object.assign(watched, start) })
  }

  #on<Message>(channel: string, resourceOf: (message: Message) => Omit<Resource, 'test'>): void {
    const listener = (message: unknown) => {
      this.#opened.add({ ...resourceOf(message as Message), test: this.#test })
    }
    subscribe(channel, listener)
    this.#subscriptions.push([channel, listener])
  }

  async #left(isRelevant: (resource: Resource) => boolean): Promise<Resource[]> {
    const until = performance.now() + CLOSE_TIMEOUT_MS
    for (;;) {
      for (const resource of this.#opened) if (!resource.isOpen()) this.#opened.delete(resource)
      const left = [...this.#opened].filter(isRelevant)
      if (left.length === 0 || performance.now() > until) {
        // Reported once.
        for (const resource of left) this.#opened.delete(resource)
        return left
      }
      await new Promise(resolve => setTimeout(resolve, 5))
    }
  }
}

/** Error message for a test or file with open resources. */
export function messageOf(where: string, left: readonly Resource[]): string {
  const lines = left.map(({ test, name }) => `  ${name()}${test === undefined ? '' : `, opened by '${test}'`}`)
  return `'${where}' left behind:\n${lines.join('\n')}\nClose it in the test, or in a hook that runs after it.`
}

function hasRef(socket: Socket): boolean {
  const { _handle: handle } = socket as Socket & { _handle?: { hasRef?(): boolean } }
  return handle?.hasRef?.() ?? false
}
