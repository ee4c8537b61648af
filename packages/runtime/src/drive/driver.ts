// Drives what is due in a session: takes its log, looks after that, decides, and works until there is nothing left to do or somebody else is to go on.

import {
  LogError,
  mustStop,
  type StreamManager,
  stopStatus,
  type Ticket,
  type Timers,
  type Writer,
} from '@millrace/log'
import type { Chunk, FinishReason, Json, RunStatus } from '@millrace/protocol'
import type { Agent } from '../agent/agent.ts'
import { workOn } from '../agent/loop.ts'
import { checkpointOf, type Work } from '../agent/work.ts'
import { BudgetError, MillraceError } from '../error/error.ts'
import type { Logger } from '../logger.ts'
import type { Backoff } from '../model/retry.ts'
import { Session } from './session.ts'

export interface DriverSettings {
  readonly manager: StreamManager
  readonly agents: ReadonlyMap<string, Agent>
  readonly timers: Timers
  readonly logger: Logger
  readonly backoff: Backoff
  /** How often a run may be taken over without getting any further. */
  readonly maxTakeovers: number
  readonly resolveContext:
    | ((context: Json | undefined, run: { readonly sessionId: string; readonly runId: string }) => unknown)
    | undefined
}

/** Why a run ends here without being at its end: it was asked to stop. */
const STOPPED = Symbol('stopped')

export class Driver {
  readonly #settings: DriverSettings
  #isLeaving = false
  readonly #leaving = new AbortController()

  constructor(settings: DriverSettings) {
    this.#settings = settings
  }

  /** What can be driven here. */
  get programs(): readonly string[] {
    return [...this.#settings.agents.keys()]
  }

  /** The sessions in which something is due that can be driven here. */
  due(limit: number): Promise<readonly string[]> {
    return this.#settings.manager.due(this.programs, limit)
  }

  /** From now on every run is handed over at its next commit. */
  leave(): void {
    this.#isLeaving = true
  }

  /** Lets go at once: what is under way is cut off, and tried again by whoever goes on. */
  abandon(): void {
    this.leave()
    this.#leaving.abort(new LogError('closed', 'the driver lets go'))
  }

  /** Drives a session as long as something is due in it. Never throws: what goes wrong is in the log, or somebody else's to go on with. */
  async drive(sessionId: string): Promise<void> {
    try {
      while (!this.#isLeaving && (await this.#driveOne(sessionId)));
    } catch (error) {
      if (error instanceof LogError && PASSING.has(error.code)) return
      this.#settings.logger.error('a session could not be driven', { sessionId, cause: error })
    }
  }

  /** Drives one run, if one is due; whether to look for another. */
  async #driveOne(sessionId: string): Promise<boolean> {
    const { manager, agents } = this.#settings
    const info = await manager.getInfo(sessionId)
    const next = info && nextOf(info.ticket)
    if (!next) return false
    const agent = agents.get(next.program)
    if (agent === undefined && !next.mustStop) return false
    const { runId, program } = next
    const writer = await manager.createWriter(sessionId, { runId, program, agentType: agentTypeOf(program) })
    try {
      await writer.begin()
      const session = await Session.open(manager, sessionId)
      const drive = new Drive(this.#settings, writer, session, agent, this.#leaving.signal, () => this.#isLeaving)
      const isOver = await drive.run(info.clock)
      if (isOver) await manager.snapshot(sessionId)
      return isOver
    } finally {
      await writer.close()
    }
  }
}

/** What happens to whoever is not alone: another has the log, or it is gone. */
const PASSING: ReadonlySet<string> = new Set([
  'busy',
  'fenced',
  'regressed',
  'refused',
  'absent',
  'closed',
  'unavailable',
])

/** The run to go on with, or to start. */
function nextOf(ticket: Ticket): { runId: string; program: string; mustStop: boolean } | undefined {
  const { run, requests } = ticket
  if (run) return run.paused && !ticket.ready && !mustStop(ticket) ? undefined : { ...run, mustStop: mustStop(ticket) }
  return requests[0] && { ...requests[0], mustStop: false }
}

const agentTypeOf = (program: string): string => /^\w+:(.*)@/.exec(program)?.[1] ?? program

/** One run in the hands of one writer. */
class Drive {
  readonly #settings: DriverSettings
  readonly #writer: Writer
  readonly #session: Session
  readonly #agent: Agent | undefined
  readonly #runId: string
  readonly #controller = new AbortController()
  readonly #isLeaving: () => boolean
  #work: Work | undefined

  constructor(
    settings: DriverSettings,
    writer: Writer,
    session: Session,
    agent: Agent | undefined,
    leaving: AbortSignal,
    isLeaving: () => boolean,
  ) {
    this.#settings = settings
    this.#writer = writer
    this.#session = session
    this.#agent = agent
    this.#runId = writer.main.origin.runId
    this.#isLeaving = isLeaving
    for (const signal of [writer.signal, leaving]) {
      signal.addEventListener('abort', () => this.#controller.abort(signal.reason), { once: true })
      if (signal.aborted) this.#controller.abort(signal.reason)
    }
  }

  /** Works until the run ends, which is true, or another is to go on with it. */
  async run(clock: number): Promise<boolean> {
    const writer = this.#writer
    writer.watch(ticket => this.#look(ticket))
    this.#look(await writer.refresh())
    const run = this.#session.run(this.#runId)
    const cancelTime = this.#limitTime(clock - (run?.startedAt ?? clock))
    try {
      const { maxTakeovers } = this.#settings
      if ((run?.takeovers ?? 0) > maxTakeovers) {
        throw new MillraceError('run_crashed', `the run was taken over ${maxTakeovers} times and got no further`)
      }
      this.#work = await this.#prepare()
      const ended = await workOn(this.#work)
      if (ended.outcome === 'left') return false
      await this.#complete(ended.facts, ended.finishReason)
    } catch (error) {
      await this.#fail(error)
    } finally {
      cancelTime()
      // What still runs of this run works for nobody any more.
      this.#controller.abort(new LogError('closed', 'the run has ended'))
    }
    return true
  }

  #look(ticket: Ticket): void {
    if (mustStop(ticket) || ticket.run?.runId !== this.#runId) this.#controller.abort(STOPPED)
  }

  #limitTime(elapsed: number): () => void {
    const { timers } = this.#settings
    const { time = Number.POSITIVE_INFINITY } = this.#agent?.budget ?? {}
    const left = Math.max(0, time - Math.max(0, elapsed))
    // Timers know no times beyond this; nobody waits for so long in one process.
    if (left > 2 ** 31 - 1) return () => {}
    const over = new BudgetError('budget_time', `the run has taken longer than ${time} ms`)
    return timers.after(left, () => this.#controller.abort(over), true)
  }

  async #prepare(): Promise<Work> {
    const { timers, logger, backoff, resolveContext } = this.#settings
    const session = this.#session
    const writer = this.#writer
    const runId = this.#runId
    const agent = this.#agent
    // A run that nobody here can drive was taken only to be stopped.
    this.#controller.signal.throwIfAborted()
    if (agent === undefined) throw new LogError('refused', 'the stop was taken back')
    const kept = await session.context(runId)
    const context = resolveContext ? ((await resolveContext(kept, { sessionId: session.id, runId })) as Json) : kept
    if (session.message(runId, runId) === undefined) await writer.write({ type: 'start' })
    if (agent.initialState !== undefined && session.state === undefined) {
      const lane = writer.main
      await lane.commit([{ type: 'state-snapshot', state: agent.initialState }, checkpointOf(lane, false)])
    }
    return {
      agent,
      session,
      writer,
      runId,
      agentId: runId,
      signal: this.#controller.signal,
      isLeaving: this.#isLeaving,
      checkpointId: undefined,
      context,
      data: session.view.requests.find(request => request.runId === runId)?.data,
      timers,
      backoff,
      logger,
      lane: (step, model) =>
        writer.lane({ lane: writer.main.origin.lane, step, ...(model !== undefined && { model }) }),
    }
  }

  /** Ends the run as completed, or as it was asked to stop if somebody was faster. */
  async #complete(facts: readonly Chunk[], finishReason: FinishReason): Promise<void> {
    await this.#writer.decide(ticket => {
      if (ticket.run?.runId !== this.#runId) return undefined
      if (mustStop(ticket)) return [...facts, ...this.#stopped(ticket)]
      return [...facts, { type: 'finish', finishReason }, this.#end('completed')]
    })
  }

  /** Ends the run as stopped or as failed; throws where it is not this process's to end. */
  async #fail(error: unknown): Promise<void> {
    const { logger } = this.#settings
    const writer = this.#writer
    writer.signal.throwIfAborted()
    if (error instanceof LogError && error.code === 'closed') throw error
    const isStop = error === STOPPED
    const failure = isStop ? undefined : failureOf(error)
    if (failure) logger.error('a run failed', { sessionId: this.#session.id, runId: this.#runId, cause: error })
    await writer.decide(ticket => {
      if (ticket.run?.runId !== this.#runId) return undefined
      if (mustStop(ticket)) return this.#stopped(ticket)
      // The stop was taken back with the request that it made room for.
      if (failure === undefined) throw new LogError('refused', 'the stop was taken back')
      const { message, code, category, retryable } = failure
      return [
        { type: 'error', message, code, category, retryable, recoverable: false },
        { type: 'finish', finishReason: 'error' },
        this.#end('failed', message),
      ]
    })
  }

  #stopped(ticket: Ticket): Chunk[] {
    return [{ type: 'abort' }, this.#end(stopStatus(ticket))]
  }

  #end(status: RunStatus, reason?: string): Chunk {
    const { checkpointId } = this.#work ?? {}
    return {
      type: 'run-finished',
      status,
      ...(checkpointId !== undefined && { checkpointId }),
      ...(reason !== undefined && { reason }),
    }
  }
}

/** What a run may say of why it failed: what nobody meant to be shown stays in the log of the process. */
function failureOf(error: unknown): MillraceError {
  if (MillraceError.isInstance(error)) return error
  if (error instanceof LogError)
    return new MillraceError('internal_error', `the log refused the run: ${error.code}`, { cause: error })
  return new MillraceError('agent_failed', 'the agent failed', { cause: error })
}
