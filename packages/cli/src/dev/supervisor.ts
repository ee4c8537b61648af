// Starts and restarts the server and the worker of a dev host.

import { dirname, resolve } from 'node:path'
import { type Backoff, backoffMs } from '@millrace/protocol/retry'
import { CommandError } from '../error/command-error.ts'
import { Child, type ChildName, type ChildOptions, type Output, type SupervisedChild } from './child.ts'
import type { ChildMessage, Delays, HostStatus, WorkerState } from './messages.ts'
import { Watcher } from './watcher.ts'

/** An event of a dev host. */
export type DevEvent =
  /** The server is up for the first time, with the URLs of the app and the studio. */
  | { readonly event: 'up'; readonly url: string; readonly studio: string }
  /** Server and worker are one process, because the store is in memory. */
  | { readonly event: 'alone' }
  /** The file takes long to load. */
  | { readonly event: 'loading'; readonly file: string }
  /** A file changed, and the processes restart. */
  | { readonly event: 'reloading'; readonly changed: string }
  /** The server is up again. */
  | { readonly event: 'back' }
  /** The file does not load. The host waits for a change. */
  | { readonly event: 'broken'; readonly message: string }
  /** A process cannot start. It is started again after `againMs`, in ms. */
  | { readonly event: 'failed'; readonly process: ChildName; readonly message: string; readonly againMs: number }
  /** A process exited unexpectedly, with a code or a signal. It is started again after `againMs`, in ms. */
  | {
      readonly event: 'ended'
      readonly process: ChildName
      readonly how: number | string
      readonly againMs: number
    }

export interface SupervisorOptions {
  readonly file: string
  readonly port: number
  readonly page: string
  readonly reload: boolean
  /** The destination of the file's output. */
  readonly output: Output
  onEvent(event: DevEvent): void
}

const BACKOFF: Backoff = { firstMs: 500, longestMs: 10_000 }
/** A child that was ready for this time restarts with the shortest delay again, in ms. */
const STABLE_MS = 10_000
/** The delay before a killed worker restarts, in ms, so that a user sees the state without a worker. */
const KILLED_RESTART_MS = 1_500
/** The timeout of a graceful stop, in ms. */
const STOP_TIMEOUT_MS = 30_000
/** The timeout of a graceful stop on reload, in ms. */
const RELOAD_STOP_TIMEOUT_MS = 3_000

/** The time after which a file that still loads causes a `loading` event, in ms. */
const SLOW_LOAD_MS = 5_000

/** The backoff state of a child. */
interface RestartState {
  /** The number of exits since the child last was stable. */
  exits: number
  /** When the current child became ready, on the monotonic clock. Undefined while it loads, however long that takes. */
  readyAt: number | undefined
  timer: NodeJS.Timeout | undefined
}

/** Runs the server and the worker of a dev host and restarts them. */
export class Supervisor {
  readonly #options: SupervisorOptions
  readonly #startChild: (options: ChildOptions) => SupervisedChild
  readonly #up = Promise.withResolvers<{ readonly url: string; readonly studio: string }>()
  readonly #children: { server?: SupervisedChild; worker?: SupervisedChild } = {}
  readonly #starts = { server: 0, worker: 0 }
  readonly #restarts: Record<ChildName, RestartState> = { server: newRestartState(), worker: newRestartState() }
  /** The restart delays of the children that the page killed, in ms. */
  readonly #killedRestartMs = new WeakMap<SupervisedChild, number>()
  #workerState: WorkerState = 'down'
  #delays: Delays = {}
  #ports: { readonly port: number; readonly studioPort?: number }
  #isUp = false
  #isSingleProcess = false
  #isReloading = false
  #stopped: Promise<void> | undefined
  #watcher: Watcher | undefined
  #slowLoadTimer: NodeJS.Timeout | undefined

  constructor(options: SupervisorOptions, startChild = (child: ChildOptions): SupervisedChild => new Child(child)) {
    this.#options = options
    this.#startChild = startChild
    this.#ports = { port: options.port }
  }

  /** Starts the children. Resolves with the URLs when they are up. @throws CommandError if they cannot start */
  start(): Promise<{ readonly url: string; readonly studio: string }> {
    const { file, reload } = this.#options
    if (reload) this.#watcher = new Watcher(dirname(resolve(file)), changed => void this.#reload(changed))
    this.#start('server')
    return this.#up.promise
  }

  /** Stops all children gracefully. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop()
    return this.#stopped
  }

  /** Kills all children. */
  kill(): void {
    for (const child of Object.values(this.#children)) child.kill()
  }

  async #stop(): Promise<void> {
    this.#watcher?.close()
    await this.#stopChildren(STOP_TIMEOUT_MS)
  }

  async #stopChildren(timeoutMs: number): Promise<void> {
    clearTimeout(this.#slowLoadTimer)
    for (const { timer } of Object.values(this.#restarts)) clearTimeout(timer)
    await Promise.all(Object.values(this.#children).map(child => child.stop(timeoutMs)))
    delete this.#children.server
    delete this.#children.worker
    this.#workerState = 'down'
  }

  async #reload(changed: string): Promise<void> {
    // A restart is already in progress, and its new children will read the changed file.
    if (this.#isReloading || this.#stopped) return
    this.#isReloading = true
    this.#options.onEvent({ event: 'reloading', changed })
    await this.#stopChildren(RELOAD_STOP_TIMEOUT_MS)
    this.#isReloading = false
    if (this.#stopped) return
    for (const name of ['server', 'worker'] as const) this.#restarts[name] = newRestartState()
    this.#start('server')
  }

  #start(name: ChildName): void {
    if (this.#stopped || this.#isReloading) return
    const { file, page, output } = this.#options
    this.#starts[name] += 1
    this.#restarts[name].readyAt = undefined
    const child = this.#startChild({
      name,
      start: { file, page, delays: this.#delays, ...this.#ports },
      output,
      onMessage: message => (name === 'server' ? this.#onServerMessage(message) : this.#onWorkerMessage(message)),
      onUnexpectedExit: exitStatus => {
        const againMs = this.#scheduleRestart(name, this.#killedRestartMs.get(child))
        this.#options.onEvent({ event: 'ended', process: name, how: exitStatus, againMs })
      },
    })
    this.#children[name] = child
    if (name === 'server') this.#warnIfSlow(child)
    if (name === 'worker') this.#workerState = 'starting'
    this.#sendStatus()
  }

  /** Reports a slow load: a top-level await in the file may never settle. */
  #warnIfSlow(child: SupervisedChild): void {
    clearTimeout(this.#slowLoadTimer)
    this.#slowLoadTimer = setTimeout(() => {
      if (this.#children.server === child) this.#options.onEvent({ event: 'loading', file: this.#options.file })
    }, SLOW_LOAD_MS)
  }

  #onServerMessage(message: ChildMessage): void {
    if (message.type === 'loaded' || message.type === 'failed') clearTimeout(this.#slowLoadTimer)
    switch (message.type) {
      case 'loaded':
        if (message.isSingleProcess && !this.#isSingleProcess) this.#options.onEvent({ event: 'alone' })
        this.#isSingleProcess = message.isSingleProcess
        if (!message.isSingleProcess && !this.#children.worker && !this.#restarts.worker.timer) this.#start('worker')
        else this.#sendStatus()
        return
      case 'listening':
        this.#restarts.server.readyAt = performance.now()
        this.#ports = { port: message.port, studioPort: message.studioPort }
        this.#onListening()
        return
      case 'failed':
        this.#children.server?.expectExit()
        if (this.#isOutdated(message)) delete this.#children.server
        else this.#onServerFailed(message)
        return
      case 'fault':
        this.#injectFault(message.fault)
        return
      case 'delays':
        this.#delays = message.delays
    }
  }

  #onListening(): void {
    const { port, studioPort = port } = this.#ports
    const up = { url: `http://127.0.0.1:${port}`, studio: `http://127.0.0.1:${studioPort}` }
    this.#options.onEvent(this.#isUp ? { event: 'back' } : { event: 'up', ...up })
    this.#isUp = true
    this.#up.resolve(up)
  }

  /** Whether the file changed while it failed to load. Then it is loaded again. */
  #isOutdated({ obstacle }: Extract<ChildMessage, { type: 'failed' }>): boolean {
    return obstacle === 'file' && this.#watcher?.isPending === true
  }

  /** Rejects the first start if the port is in use or nothing is reloaded. Otherwise reports the failure, and waits for a change or retries. */
  #onServerFailed({ obstacle, message, port }: Extract<ChildMessage, { type: 'failed' }>): void {
    const { reload, onEvent, file } = this.#options
    if (!this.#isUp && port !== undefined) {
      const next = `millrace dev ${file} --port ${port + 1}`
      const why = `Port ${port} is in use. Stop the process that uses it, or choose another port: ${next}`
      this.#up.reject(new CommandError('failed', why, 'port_taken'))
      return
    }
    if (!this.#isUp && !reload) {
      this.#up.reject(new CommandError('failed', message, `${obstacle}_failed`))
      return
    }
    if (obstacle === 'file' && this.#watcher?.isWatching) {
      delete this.#children.server
      onEvent({ event: 'broken', message })
      return
    }
    onEvent({ event: 'failed', process: 'server', message, againMs: this.#scheduleRestart('server') })
  }

  #onWorkerMessage(message: ChildMessage): void {
    if (message.type === 'driving') {
      this.#restarts.worker.readyAt = performance.now()
      this.#workerState = 'up'
      this.#sendStatus()
    }
    if (message.type === 'failed') {
      this.#children.worker?.expectExit()
      if (this.#isOutdated(message)) {
        delete this.#children.worker
        return
      }
      const { message: text } = message
      this.#options.onEvent({
        event: 'failed',
        process: 'worker',
        message: text,
        againMs: this.#scheduleRestart('worker'),
      })
    }
  }

  #injectFault(fault: 'kill-worker' | 'restart-server'): void {
    const name = fault === 'kill-worker' ? 'worker' : 'server'
    const child = this.#children[name]
    if (child === undefined) return
    // The exit is reported when the process has ended.
    this.#killedRestartMs.set(child, name === 'worker' ? KILLED_RESTART_MS : 0)
    child.kill()
  }

  /** Schedules a restart. Returns its delay in ms. */
  #scheduleRestart(name: ChildName, ms?: number): number {
    delete this.#children[name]
    const restart = this.#restarts[name]
    if (restart.readyAt !== undefined && performance.now() - restart.readyAt >= STABLE_MS) restart.exits = 0
    const againMs = ms ?? backoffMs(BACKOFF, restart.exits++)
    clearTimeout(restart.timer)
    restart.timer = setTimeout(() => {
      restart.timer = undefined
      this.#start(name)
    }, againMs)
    if (name === 'worker') this.#workerState = 'down'
    this.#sendStatus()
    return againMs
  }

  /** Sends the status to the server, for its page. */
  #sendStatus(): void {
    const { server, worker } = this.#children
    if (server) server.send({ type: 'host', host: this.#status(server, worker) })
  }

  #status(server: SupervisedChild, worker: SupervisedChild | undefined): HostStatus {
    const serverStatus = { pid: server.pid, starts: this.#starts.server }
    return {
      file: this.#options.file,
      server: serverStatus,
      worker: this.#isSingleProcess
        ? { state: 'up', ...serverStatus }
        : { state: this.#workerState, ...(worker && { pid: worker.pid }), starts: this.#starts.worker },
      delays: this.#delays,
    }
  }
}

const newRestartState = (): RestartState => ({ exits: 0, readyAt: undefined, timer: undefined })
