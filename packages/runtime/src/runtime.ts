import { randomUUID } from 'node:crypto'
import {
  type LogStore,
  StreamManager,
  type StreamManagerOptions,
  systemTimers,
  type Ticket,
  type Timers,
} from '@millrace/log'
import type { Json, View } from '@millrace/protocol'
import type { Agent } from './agent/agent.ts'
import { Driver } from './drive/driver.ts'
import { type Engine, type InProcessOptions, inProcessEngine } from './drive/engine.ts'
import { RunError, ValidationError } from './error/error.ts'
import { consoleLogger, type Logger } from './logger.ts'
import { type Backoff, DEFAULT_BACKOFF } from './model/retry.ts'
import {
  contextOfRequest,
  messageOf,
  type RequestChunk,
  type ResumeOptions,
  refusalOf,
  repetition,
  resumption,
  revision,
  runOf,
  type UserInput,
} from './run/request.ts'
import { Run, type RunHost, type StopOptions } from './run/run.ts'
import { type SessionStatus, statusOf } from './run/status.ts'

export interface RuntimeOptions {
  /** Where the logs are. */
  readonly store: LogStore
  readonly agents?: readonly Agent[]
  /** Who drives: an engine of one's own, how the one in this process is to work, or nobody here, because workers do. */
  readonly engine?: Engine | InProcessOptions | false
  readonly log?: Omit<StreamManagerOptions, 'store' | 'timers'>
  /** Adds what must not be kept, such as clients and secrets, each time a run is taken up. */
  readonly resolveContext?: (
    context: Json | undefined,
    run: { readonly sessionId: string; readonly runId: string },
  ) => unknown
  readonly backoff?: Partial<Backoff>
  /** How often a run may be taken over without getting any further before it ends as failed. */
  readonly maxTakeovers?: number
  /** After how long without anybody driving it a session in which something is due counts as blocked, in milliseconds. */
  readonly blockedAfterMs?: number
  readonly logger?: Logger
  readonly timers?: Timers
}

/** How often a run may be taken over without getting any further, if nothing is said. */
export const MAX_TAKEOVERS = 5
/** When a session counts as blocked, if nothing is said. */
export const BLOCKED_AFTER_MS = 10_000

/** Who asks, and what goes with it. */
export interface AskOptions {
  readonly runId?: string
  /** A label of who asks, as the server's own code knows it. */
  readonly guest?: string
  /** What becomes of it while another run is open; it is refused, if nothing is said. */
  readonly whenBusy?: 'reject' | 'queue' | 'interrupt-previous'
  /** What the client sent along: input, and so not to be trusted. */
  readonly data?: Json
  /** What the server's own code gives the run: JSON without credentials; no reader sees it. */
  readonly context?: Json
}

export interface StartOptions<A extends Agent | string = Agent | string> extends AskOptions {
  /** The session; a new one, if none is named. */
  readonly session?: string
  readonly agent: A
  readonly input?: UserInput
  readonly messageId?: string
  /** Whose the session is, if it has to be made. */
  readonly principal?: string
}

type OutputOfAgent<A> =
  A extends Agent<string, never, infer Output>
    ? Output
    : A extends {
          readonly output:
            | { readonly schema: { readonly '~standard': { readonly types?: { readonly output: infer O } } } }
            | undefined
        }
      ? O
      : unknown

/** Runs of agents over one store: asks for them, shows them, and drives them unless others do. */
export class Runtime implements RunHost {
  readonly manager: StreamManager
  readonly #agents: ReadonlyMap<string, Agent>
  readonly #engine: Engine | undefined
  readonly #blockedAfterMs: number

  constructor(options: RuntimeOptions) {
    const { store, agents = [], engine = {}, log, timers = systemTimers, logger = consoleLogger } = options
    const names = new Set<string>()
    for (const { name } of agents) {
      if (names.has(name)) throw new ValidationError(`agents: there are two by the name ${name}`)
      names.add(name)
    }
    this.#agents = new Map(agents.map(agent => [agent.program, agent]))
    this.#blockedAfterMs = options.blockedAfterMs ?? BLOCKED_AFTER_MS
    this.manager = new StreamManager({ ...log, store, timers })
    if (engine === false) return
    const driver = new Driver({
      manager: this.manager,
      agents: this.#agents,
      timers,
      logger,
      backoff: { ...DEFAULT_BACKOFF, ...options.backoff },
      maxTakeovers: options.maxTakeovers ?? MAX_TAKEOVERS,
      resolveContext: options.resolveContext,
    })
    this.#engine = 'start' in engine ? engine : inProcessEngine({ timers, ...engine })
    this.#engine.start(driver)
  }

  /** Asks for a run; who asks again under the same `runId` gets the same run. */
  async start<A extends Agent | string>(options: StartOptions<A>): Promise<Run<OutputOfAgent<A>>> {
    const { session = randomUUID(), input, messageId, principal } = options
    const message = input === undefined ? undefined : messageOf(input, messageId)
    await this.manager.createStream(session, principal)
    return this.#ask(session, { program: this.#programOf(options.agent), ...(message && { message }) }, options)
  }

  /** A run that was asked for, here or elsewhere. */
  run<Output = unknown>(sessionId: string, runId: string): Run<Output> {
    return new Run(this, sessionId, runId)
  }

  /** Goes on from an interrupted run, or from one of its checkpoints, by another that names it. */
  async resume(sessionId: string, runId: string, options: ResumeOptions & AskOptions = {}): Promise<Run> {
    const { view } = await this.manager.view(sessionId)
    const request = await resumption(this.manager, sessionId, runOf(view, runId), options)
    return this.#askAgain(sessionId, view, runId, request, options)
  }

  /** Does a turn again, and all that came of it; the latest, if none is named. */
  async retry(sessionId: string, runId?: string, options: AskOptions = {}): Promise<Run> {
    const { view } = await this.manager.view(sessionId)
    const id = runId ?? view.runs.at(-1)?.runId
    if (id === undefined) throw new RunError('run_unknown', `there is no run in ${sessionId} to do again`)
    return this.#askAgain(sessionId, view, id, repetition(view, runOf(view, id)), options)
  }

  /** Replaces a person's message, and all that came of it. */
  async edit(
    sessionId: string,
    messageId: string,
    input: UserInput,
    options: AskOptions & { readonly newMessageId?: string } = {},
  ): Promise<Run> {
    const { view } = await this.manager.view(sessionId)
    const request = revision(view, messageId, input, options.newMessageId)
    const asked = view.requests.findLast(({ message }) => message?.messageId === messageId)
    return this.#askAgain(sessionId, view, asked?.runId ?? '', request, options)
  }

  /** Makes another session from the beginning of one, up to a sequence or all of it; tells its id. */
  async fork(
    sessionId: string,
    options: { readonly at?: number; readonly session?: string; readonly principal?: string } = {},
  ): Promise<string> {
    const { session = randomUUID(), principal } = options
    const at = options.at ?? (await this.#info(sessionId)).head
    await this.manager.forkStream(sessionId, at, session, principal)
    return session
  }

  /** Asks a run to stop, or takes its request back; false where it has ended or was asked already. */
  async stop(
    sessionId: string,
    runId: string,
    { mode = 'interrupt', reason, guest = 'runtime' }: StopOptions & { readonly guest?: string } = {},
  ): Promise<boolean> {
    const done = await this.manager.append(sessionId, guest, {
      type: 'stop-requested',
      runId,
      mode,
      ...(reason !== undefined && { reason }),
    })
    this.#engine?.wake(sessionId)
    return done.outcome !== 'refused'
  }

  /** What a session shows, and its ticket. */
  async view(sessionId: string): Promise<{ view: Omit<View, 'internal'>; ticket: Ticket }> {
    const { view, ticket } = await this.manager.view(sessionId)
    const { internal, ...shown } = view
    return { view: shown, ticket }
  }

  /** What a session is doing, and why it does nothing if something is due in it. */
  async status(sessionId: string): Promise<SessionStatus> {
    return statusOf(await this.#info(sessionId), this.#blockedAfterMs)
  }

  /** Hands over what is driven here, and lets everything go. The store stays open. */
  async close(): Promise<void> {
    await this.#engine?.stop()
    await this.manager.close()
  }

  async #info(sessionId: string) {
    const info = await this.manager.getInfo(sessionId)
    if (info) return info
    throw new RunError('run_unknown', `there is no session ${sessionId}`)
  }

  async #askAgain(
    sessionId: string,
    view: View,
    of: string,
    request: Omit<RequestChunk, 'type' | 'runId'>,
    options: AskOptions,
  ): Promise<Run> {
    const context = options.context ?? (await contextOfRequest(this.manager, sessionId, view, of))
    return this.#ask(sessionId, request, { ...options, ...(context !== undefined && { context }) })
  }

  async #ask<Output>(
    sessionId: string,
    request: Omit<RequestChunk, 'type' | 'runId'>,
    options: AskOptions,
  ): Promise<Run<Output>> {
    const { runId = randomUUID(), guest = 'runtime', whenBusy, data, context } = options
    const chunk: RequestChunk = {
      type: 'run-requested',
      ...request,
      runId,
      ...(whenBusy && { whenBusy }),
      ...(data !== undefined && { data }),
    }
    const done = await this.manager.append(sessionId, guest, chunk, context === undefined ? {} : { context })
    if (done.outcome === 'refused') throw refusalOf(done.reason, runId)
    this.#engine?.wake(sessionId)
    return new Run<Output>(this, sessionId, runId)
  }

  #programOf(agent: Agent | string): string {
    if (typeof agent !== 'string') return agent.program
    for (const { name, program } of this.#agents.values()) if (name === agent) return program
    if (/^agent:.+@.+$/.test(agent)) return agent
    const known = [...this.#agents.values()].map(({ name }) => name).join(', ')
    throw new RunError('program_unknown', `there is no agent ${agent} here, only ${known || 'none'}`)
  }
}

/** Makes a runtime; it drives what is due from now on, unless told not to. */
export const createRuntime = (options: RuntimeOptions): Runtime => new Runtime(options)

/** A process that only drives: it stays alive until it is stopped. */
export interface Worker {
  readonly runtime: Runtime
  /** Hands over what is driven here. */
  stop(): Promise<void>
}

/** Drives what others ask for, on the same store. */
export function createWorker(
  options: Omit<RuntimeOptions, 'engine'> & { readonly engine?: Engine | InProcessOptions },
): Worker {
  const engine = options.engine ?? {}
  const runtime = createRuntime({ ...options, engine: 'start' in engine ? engine : { keepsAlive: true, ...engine } })
  return { runtime, stop: () => runtime.close() }
}
