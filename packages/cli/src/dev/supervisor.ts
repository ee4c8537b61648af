// Who starts the server and the worker of a dev host, and starts them again.

import { dirname, resolve } from 'node:path'
import { CommandError } from '../error/command-error.ts'
import { Child, type ChildName, type Output } from './child.ts'
import type { ChildMessage, Delays, Host, WorkerState } from './messages.ts'
import { Watcher } from './watcher.ts'

/** What a dev host tells who started it. */
export type DevEvent =
  | { readonly event: 'up'; readonly url: string; readonly studio: string }
  /** Server and worker are one process: nobody else would see the store. */
  | { readonly event: 'alone' }
  /** The file takes long to load. */
  | { readonly event: 'loading'; readonly file: string }
  | { readonly event: 'reloading'; readonly changed: string }
  /** The server is there again. */
  | { readonly event: 'back' }
  /** The file cannot be served as it is: a change of it is waited for. */
  | { readonly event: 'broken'; readonly message: string }
  | { readonly event: 'failed'; readonly process: ChildName; readonly message: string; readonly againMs: number }
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
  /** Where that goes which the file prints. */
  readonly output: Output
  tell(event: DevEvent): void
}

const FIRST_MS = 500
const LONGEST_MS = 10_000
/** Who was up for so long starts afresh when it ends. */
const STEADY_MS = 10_000
/** So that a person sees what it is like without a worker. */
const KILLED_MS = 1_500
/** How long the server and the worker may take to go, in milliseconds. */
const STOP_MS = 30_000
/** The same where somebody waits for what they have changed. */
const RELOAD_MS = 3_000

/** Who loads for longer is told of, in milliseconds. */
const LOADING_MS = 5_000

/** How often something has ended of late, and when it is started again. */
interface RestartState {
  ends: number
  since: number
  timer: NodeJS.Timeout | undefined
}

/** Keeps the server and the worker of a dev host going. */
export class Supervisor {
  readonly #options: SupervisorOptions
  readonly #up = Promise.withResolvers<{ readonly url: string; readonly studio: string }>()
  readonly #children: { server?: Child; worker?: Child } = {}
  readonly #starts = { server: 0, worker: 0 }
  readonly #restarts: Record<ChildName, RestartState> = { server: newRestartState(), worker: newRestartState() }
  /** Those that the page has had killed, and in how many milliseconds each is started again. */
  readonly #killed = new WeakMap<Child, number>()
  #workerState: WorkerState = 'down'
  #delays: Delays = {}
  #ports: { readonly port: number; readonly studioPort?: number }
  #isUp = false
  #isAlone = false
  #isReloading = false
  #stopped: Promise<void> | undefined
  #watcher: Watcher | undefined
  #loading: NodeJS.Timeout | undefined

  constructor(options: SupervisorOptions) {
    this.#options = options
    this.#ports = { port: options.port }
  }

  /** Starts all of it; where the app and the studio are, once they are there. Throws where that cannot be. */
  start(): Promise<{ readonly url: string; readonly studio: string }> {
    const { file, reload } = this.#options
    if (reload) this.#watcher = new Watcher(dirname(resolve(file)), changed => void this.#reload(changed))
    this.#start('server')
    return this.#up.promise
  }

  /** Ends all of it in good order. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop()
    return this.#stopped
  }

  /** Ends all of it at once. */
  kill(): void {
    for (const child of Object.values(this.#children)) child.kill()
  }

  async #stop(): Promise<void> {
    this.#watcher?.close()
    await this.#stopChildren(STOP_MS)
  }

  async #stopChildren(ms: number): Promise<void> {
    clearTimeout(this.#loading)
    for (const { timer } of Object.values(this.#restarts)) clearTimeout(timer)
    await Promise.all(Object.values(this.#children).map(child => child.stop(ms)))
    delete this.#children.server
    delete this.#children.worker
    this.#workerState = 'down'
  }

  async #reload(changed: string): Promise<void> {
    // Whoever is being stopped has not read the file yet: what starts after that will.
    if (this.#isReloading || this.#stopped) return
    this.#isReloading = true
    this.#options.tell({ event: 'reloading', changed })
    await this.#stopChildren(RELOAD_MS)
    this.#isReloading = false
    if (this.#stopped) return
    for (const name of ['server', 'worker'] as const) this.#restarts[name] = newRestartState()
    this.#start('server')
  }

  #start(name: ChildName): void {
    if (this.#stopped || this.#isReloading) return
    const { file, page, output } = this.#options
    this.#starts[name] += 1
    this.#restarts[name].since = performance.now()
    const child = new Child({
      name,
      start: { file, page, delays: this.#delays, ...this.#ports },
      output,
      onMessage: message => (name === 'server' ? this.#onServerMessage(message) : this.#onWorkerMessage(message)),
      ended: how => {
        const againMs = this.#again(name, this.#killed.get(child))
        this.#options.tell({ event: 'ended', process: name, how, againMs })
      },
    })
    this.#children[name] = child
    if (name === 'server') this.#awaitLoaded(child)
    if (name === 'worker') this.#workerState = 'starting'
    this.#changed()
  }

  /** Who waits is told that it still loads: something at the top of the file may never come. */
  #awaitLoaded(child: Child): void {
    clearTimeout(this.#loading)
    this.#loading = setTimeout(() => {
      if (this.#children.server === child) this.#options.tell({ event: 'loading', file: this.#options.file })
    }, LOADING_MS)
  }

  #onServerMessage(message: ChildMessage): void {
    if (message.type === 'loaded' || message.type === 'failed') clearTimeout(this.#loading)
    switch (message.type) {
      case 'loaded':
        if (message.isAlone && !this.#isAlone) this.#options.tell({ event: 'alone' })
        this.#isAlone = message.isAlone
        if (!message.isAlone && !this.#children.worker && !this.#restarts.worker.timer) this.#start('worker')
        else this.#changed()
        return
      case 'listening':
        this.#ports = { port: message.port, studioPort: message.studioPort }
        this.#listening()
        return
      case 'failed':
        this.#children.server?.forget()
        if (this.#isOutdated(message)) delete this.#children.server
        else this.#obstructed(message)
        return
      case 'fault':
        this.#cause(message.fault)
        return
      case 'delays':
        this.#delays = message.delays
    }
  }

  #listening(): void {
    const { port, studioPort = port } = this.#ports
    const up = { url: `http://127.0.0.1:${port}`, studio: `http://127.0.0.1:${studioPort}` }
    this.#options.tell(this.#isUp ? { event: 'back' } : { event: 'up', ...up })
    this.#isUp = true
    this.#up.resolve(up)
  }

  /** Whether a file that did not load was read while it changed: it is about to be read again. */
  #isOutdated({ obstacle }: Extract<ChildMessage, { type: 'failed' }>): boolean {
    return obstacle === 'file' && this.#watcher?.isPending === true
  }

  /** The server cannot be started as things are. */
  #obstructed({ obstacle, message, port }: Extract<ChildMessage, { type: 'failed' }>): void {
    const { reload, tell, file } = this.#options
    if (!this.#isUp && port !== undefined) {
      const next = `millrace dev ${file} --port ${port + 1}`
      const why = `Port ${port} is in use. Stop what listens there, or choose another port: ${next}`
      this.#up.reject(new CommandError('failed', why, 'port_taken'))
      return
    }
    if (!this.#isUp && !reload) {
      this.#up.reject(new CommandError('failed', message, `${obstacle}_failed`))
      return
    }
    if (obstacle === 'file' && this.#watcher?.isWatching) {
      delete this.#children.server
      tell({ event: 'broken', message })
      return
    }
    tell({ event: 'failed', process: 'server', message, againMs: this.#again('server') })
  }

  #onWorkerMessage(message: ChildMessage): void {
    if (message.type === 'driving') {
      this.#workerState = 'up'
      this.#changed()
    }
    if (message.type === 'failed') {
      this.#children.worker?.forget()
      if (this.#isOutdated(message)) {
        delete this.#children.worker
        return
      }
      const { message: text } = message
      this.#options.tell({ event: 'failed', process: 'worker', message: text, againMs: this.#again('worker') })
    }
  }

  #cause(fault: 'kill-worker' | 'restart-server'): void {
    const name = fault === 'kill-worker' ? 'worker' : 'server'
    const child = this.#children[name]
    if (child === undefined) return
    // That it has ended is told when it has.
    this.#killed.set(child, name === 'worker' ? KILLED_MS : 0)
    child.kill()
  }

  /** Has what has ended start again: in how many milliseconds. */
  #again(name: ChildName, ms?: number): number {
    delete this.#children[name]
    const of = this.#restarts[name]
    if (performance.now() - of.since > STEADY_MS) of.ends = 0
    const againMs = ms ?? Math.min(FIRST_MS * 2 ** of.ends++, LONGEST_MS)
    clearTimeout(of.timer)
    of.timer = setTimeout(() => {
      of.timer = undefined
      this.#start(name)
    }, againMs)
    if (name === 'worker') this.#workerState = 'down'
    this.#changed()
    return againMs
  }

  /** Tells the server how it stands, for its page. */
  #changed(): void {
    const { server, worker } = this.#children
    if (server) server.tell({ type: 'host', host: this.#host(server, worker) })
  }

  #host(server: Child, worker: Child | undefined): Host {
    const of = { pid: server.pid, starts: this.#starts.server }
    return {
      file: this.#options.file,
      server: of,
      worker: this.#isAlone
        ? { state: 'up', ...of }
        : { state: this.#workerState, ...(worker && { pid: worker.pid }), starts: this.#starts.worker },
      delays: this.#delays,
    }
  }
}

const newRestartState = (): RestartState => ({ ends: 0, since: 0, timer: undefined })
