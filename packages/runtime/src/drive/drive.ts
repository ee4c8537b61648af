// One drive of a run by one writer: it starts or takes over the run, executes it, and ends it or hands it over.

import { LogError, type StreamManager, type Ticket, type Timers, type Writer } from '@millrace/log'
import { type BatchLike, MAX_TIMER_MS, mustStop, stopStatus } from '@millrace/log/internal'
import type { Chunk, Json } from '@millrace/protocol'
import type { Backoff } from '@millrace/protocol/retry'
import { Signal } from '../async/signal.ts'
import { unlessAborted } from '../async/unless-aborted.ts'
import type { Agent } from '../define/agent.ts'
import { type Program, workflowOf } from '../define/program.ts'
import { BudgetError, MillraceError } from '../error/error.ts'
import { runAgent } from '../execute/agent/run-agent.ts'
import type { ExecutionResult, Executor } from '../execute/executor.ts'
import { incompleteAnswerItems } from '../execute/incomplete-answer-error.ts'
import { agentOutput } from '../execute/output-stream.ts'
import { type AgentExecution, checkpointOf, type ProgramExecution } from '../execute/program-execution.ts'
import { unfinishedObjectEntries } from '../execute/replay/cleanup.ts'
import { programAt } from '../execute/replay/journal.ts'
import { completedEnd, failedEnd, failureOf, stoppedEnd, subAgentEnds } from '../execute/run-end.ts'
import { workflowOfProgram } from '../execute/workflow/migration.ts'
import { runWorkflow } from '../execute/workflow/run-workflow.ts'
import type { ModelLimits } from '../model/model-limits.ts'
import { deepCopy } from '../schema/deep-copy.ts'
import type { SchemaChecker } from '../schema/schema-checker.ts'
import { CommitLock } from '../session/commit-lock.ts'
import { lastLineIn, withLastLine } from '../session/last-line.ts'
import { Session } from '../session/session.ts'
import { SNAPSHOT_INTERVAL, type Snapshots } from '../session/snapshots.ts'
import type { StoreClock } from '../session/store-clock.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { RunTelemetry, Telemetry } from '../telemetry/telemetry.ts'
import type { Notices } from './notices.ts'
import { canPause, pauseOf } from './pause.ts'

export interface DriveSettings {
  readonly manager: StreamManager
  /** Programs by `name@version`, including versions that workflows migrate. */
  readonly programs: ReadonlyMap<string, Program>
  readonly timers: Timers
  readonly logger: Logger
  readonly backoff: Backoff
  readonly modelLimits: ModelLimits
  readonly checker: SchemaChecker
  readonly telemetry: Telemetry
  readonly notices: Notices
  /** Maximum number of takeovers of a run without progress. */
  readonly maxTakeovers: number
  /** Adds values that must not be stored, at each drive of a run. */
  readonly resolveContext:
    | ((context: Json | undefined, run: { readonly sessionId: string; readonly runId: string }) => unknown)
    | undefined
  /** How long after its last run the store removes a session by itself, in ms. Undefined for never. */
  readonly expireAfterMs: number | undefined
}

/** Options of one drive. */
export interface DriveOptions {
  readonly writer: Writer
  readonly program: string
  /** Owner of the session. */
  readonly principal: string | null
  /** Undefined if the run was claimed only to be stopped. */
  readonly definition: Program | undefined
  readonly snapshots: Snapshots
  readonly clock: StoreClock
  /** Aborted when the run must be handed over at its next commit. */
  readonly handover: AbortSignal
}

/** Abort reason of a stopped run. */
const STOPPED = Symbol('stopped')

/** Errors of the log that do not fail the run: another driver continues it. */
const RECOVERABLE_LOG_ERRORS = new Set(['unavailable', 'fenced', 'regressed', 'absent', 'closed', 'truncated'])

const executor: Executor = { runAgent, runWorkflow }

export class Drive {
  readonly #settings: DriveSettings
  readonly #options: DriveOptions
  readonly #writer: Writer
  readonly #runId: string
  readonly #controller = new AbortController()
  readonly #ticketChanged = new Signal()
  readonly #telemetry: RunTelemetry
  #work: ProgramExecution | undefined
  #session: Session | undefined
  /** Sequence of the latest known snapshot. */
  #snapshotSequence = 0

  constructor(settings: DriveSettings, options: DriveOptions) {
    this.#settings = settings
    this.#options = options
    this.#writer = options.writer
    this.#runId = options.writer.main.origin.runId
    const agent = options.definition?.kind === 'agent' ? options.definition : undefined
    this.#telemetry = settings.telemetry.drive({ ...options, agent, clock: options.clock.now })
  }

  /**
   * Drives the run until it ends. Returns whether to look for the next one; false if another process continues this run.
   */
  async run(): Promise<boolean> {
    const { signal } = this.#writer
    const abort = () => this.abandon(signal.reason)
    signal.addEventListener('abort', abort)
    if (signal.aborted) abort()
    try {
      return await this.#telemetry.agent.within(() => this.#run())
    } catch (error) {
      this.#telemetry.lose(error)
      throw error
    } finally {
      signal.removeEventListener('abort', abort)
      // Stops the remaining work of this drive.
      this.#controller.abort(new LogError('closed', 'the drive has ended'))
      this.#telemetry.end(this.#session?.run(this.#runId)?.startedAt)
    }
  }

  /** Aborts now. The next driver retries the work in flight. */
  abandon(reason: unknown): void {
    this.#controller.abort(reason)
  }

  async #run(): Promise<boolean> {
    const { definition } = this.#options
    const writer = this.#writer
    const before = writer.ticket.run === null ? undefined : await this.#open()
    do {
      if (before && (await this.#endBeforeStart(before))) return true
      // The stop was withdrawn, and this process cannot drive the run.
      if (definition === undefined) return true
      if (before) await this.#checkProgram(definition, before)
      // Before any code of the program runs. Returns false if the run was stopped just now: then it ends with the content
      // that readers have.
    } while (!(await writer.begin()))
    writer.watch(ticket => this.#onTicket(ticket))
    const session = before ?? (await this.#open())
    if (before === undefined) {
      this.#snapshotSequence = session.head
      session.trackRun(this.#runId)
    }
    const remainingMs = before ? await this.#timeLeft(definition, session) : definition.budget.timeMs
    const cancelTime = this.#startTimeLimit(definition, remainingMs)
    try {
      const work = this.#prepare(definition, session)
      for (;;) {
        const ended = await unlessAborted(
          work.then(run => run()),
          this.#controller.signal,
        )
        if (ended.outcome === 'handed-over') return false
        if (ended.outcome === 'done') {
          await this.#complete(ended, session)
          // Only a completed session is cached: a paused one holds nothing, and a failed one may still have work in
          // progress.
          session.close()
          return true
        }
        if (await this.#pause(ended, session)) return true
        // An answer arrived meanwhile.
        await session.catchUp()
      }
    } catch (error) {
      await this.#fail(error, session)
    } finally {
      cancelTime()
    }
    return true
  }

  /** Ends a run that must not continue, before its drafts are discarded. Returns whether it ended. */
  async #endBeforeStart(session: Session): Promise<boolean> {
    const { logger } = this.#settings
    const { definition } = this.#options
    const failure = definition && (await this.#failureBeforeStart(definition, session))
    if (failure === undefined && !mustStop(this.#writer.ticket)) return false
    const { checkpointId } = (await session.lastCheckpoint(this.#runId)) ?? {}
    let isFailed = false
    const done = await this.#decide(ticket => {
      isFailed = false
      if (ticket.run?.runId !== this.#runId) return undefined
      if (mustStop(ticket))
        return [...subAgentEnds(session, this.#writer, stopStatus(ticket)), ...stoppedEnd(ticket, checkpointId)]
      if (failure === undefined) return undefined
      isFailed = true
      // Explicit, because the writer's own first batch would discard the drafts.
      const first: Chunk[] = ticket.run.paused ? [] : [{ type: 'executor-superseded' }]
      const openEnds = [
        ...unfinishedObjectEntries(session, this.#writer, failure.code),
        ...subAgentEnds(session, this.#writer, 'interrupted'),
      ]
      return [...first, ...openEnds, ...failedEnd(failure, checkpointId)]
    })
    if (isFailed) logger.error('a run failed', { sessionId: session.id, runId: this.#runId, cause: failure })
    return done !== undefined
  }

  /** @throws {MillraceError} before anything is written if the run is in a workflow that this process does not have. */
  async #checkProgram(definition: Program, session: Session): Promise<void> {
    if (definition.kind !== 'workflow') return
    const program = await programAt(session, this.#runId)
    if (program !== undefined) workflowOfProgram(program, definition, id => workflowOf(this.#settings.programs, id))
  }

  /** Why a run that was driven before cannot continue; undefined if it can. */
  async #failureBeforeStart(definition: Program, session: Session): Promise<MillraceError | undefined> {
    const { maxTakeovers } = this.#settings
    const { takeovers = 0 } = session.run(this.#runId) ?? {}
    if (takeovers >= maxTakeovers) {
      return new MillraceError(
        'run_crashed',
        `the run was taken over ${maxTakeovers} times without progress: see why its processes ended, then retry it`,
      )
    }
    return (await this.#timeLeft(definition, session)) > 0 ? undefined : timeBudgetError(definition)
  }

  async #open(): Promise<Session> {
    const { writer, snapshots, clock } = this.#options
    const onRead = (head: number) => {
      if (head - this.#snapshotSequence < SNAPSHOT_INTERVAL) return
      this.#snapshotSequence = head
      snapshots.takeNow(writer.streamId)
    }
    const session = await Session.open(this.#settings.manager, writer.streamId, {
      writer,
      onRead,
      onClock: clock.update,
    })
    this.#snapshotSequence = snapshots.noteRead(session.id, session.snapshot, session.head)
    this.#session = session
    return session
  }

  #onTicket(ticket: Ticket): void {
    if (mustStop(ticket) || ticket.run?.runId !== this.#runId) this.#controller.abort(STOPPED)
    else this.#ticketChanged.notify()
  }

  /** Remaining time of the run in ms, by the store's clock, without the time it waited for answers. */
  async #timeLeft({ budget }: Program, session: Session): Promise<number> {
    if (budget.timeMs === Number.POSITIVE_INFINITY) return budget.timeMs
    return budget.timeMs - (await session.activeTime(this.#runId, this.#runId, this.#options.clock.now()))
  }

  #startTimeLimit(definition: Program, remainingMs: number): () => void {
    // A single process does not run that long.
    if (remainingMs > MAX_TIMER_MS) return () => {}
    return this.#settings.timers.after(
      Math.max(0, remainingMs),
      () => this.#controller.abort(timeBudgetError(definition)),
      true,
    )
  }

  /** Prepares the execution of the program. Returns the function that runs it until it is done or cannot continue. */
  async #prepare(definition: Program, session: Session): Promise<() => Promise<ExecutionResult>> {
    const { timers, logger, backoff, modelLimits, checker, programs } = this.#settings
    const { principal } = this.#options
    const writer = this.#writer
    const runId = this.#runId
    this.#controller.signal.throwIfAborted()
    await session.current()
    const context = await this.#context(session)
    this.#controller.signal.throwIfAborted()
    if (session.message(runId, runId) === undefined) await writer.write({ type: 'start' })
    const execution: ProgramExecution = {
      program: definition,
      session,
      writer,
      runId,
      agentId: runId,
      parent: undefined,
      signal: this.#controller.signal,
      handover: this.#options.handover,
      checkpointId: undefined,
      context,
      data: session.view.requests.find(request => request.runId === runId)?.data,
      timers,
      backoff,
      modelLimits,
      formChecks: { checker, caller: { kind: 'owner', id: principal ?? '' } },
      logger,
      telemetry: this.#telemetry.agent,
      ticketChanged: this.#ticketChanged,
      clock: this.#options.clock.now,
      commitLock: new CommitLock(session),
      executor,
      lane: (step, model) =>
        writer.lane({ lane: writer.main.origin.lane, step, ...(model !== undefined && { model }) }),
      workflowOf: id => workflowOf(programs, id),
    }
    if (definition.kind === 'workflow') {
      this.#work = execution
      return () => executor.runWorkflow(execution, definition)
    }
    await this.#setInitialState(definition, session)
    const work: AgentExecution = {
      ...execution,
      agent: definition,
      history: () => session.history(),
      message: () => session.message(runId, runId),
      output: agentOutput(definition, runId, runId),
    }
    this.#work = work
    return () => executor.runAgent(work)
  }

  /** Sets the agent's initial state if the session has no state. */
  async #setInitialState({ initialState }: Agent, session: Session): Promise<void> {
    if (initialState === undefined || session.state !== undefined) return
    const lane = this.#writer.main
    await lane.commit([{ type: 'state-snapshot', state: initialState }, checkpointOf(lane, false)])
  }

  async #context(session: Session): Promise<Json | undefined> {
    const { resolveContext } = this.#settings
    // A copy, so that user code cannot change the session.
    const context = deepCopy(await session.context(this.#runId))
    if (resolveContext === undefined) return context
    try {
      return (await resolveContext(context, { sessionId: session.id, runId: this.#runId })) as Json
    } catch (error) {
      if (MillraceError.isInstance(error)) throw error
      throw new MillraceError('agent_failed', 'the context of the run could not be resolved', { cause: error })
    }
  }

  /** Flushes the writer and folds all entries of the run. */
  async #readAll(session: Session): Promise<void> {
    // A failed write rejects for its own caller.
    await this.#writer.flush().catch(() => {})
    await session.current()
  }

  /** The last public line of the root agent, as far as it was read. */
  get #lastLine(): string | undefined {
    return lastLineIn(this.#session?.message(this.#runId, this.#runId))
  }

  /** Commits the end or the pause of the run, with its last line. */
  async #decide(build: (ticket: Ticket) => BatchLike | undefined, line = this.#lastLine) {
    const { notices } = this.#settings
    const { definition, clock, program, principal } = this.#options
    let batch: BatchLike | undefined
    const done = await this.#writer.decide(ticket => {
      const built = build(ticket)
      const withLine = built && withLastLine(built, line, this.#writer.main)
      batch =
        withLine && notices.withNotifyBy(withLine, { clock: clock.now(), program, isDriven: definition !== undefined })
      return batch
    })
    if (done && batch) {
      this.#telemetry.decided(batch)
      notices.deliver({ sessionId: this.#writer.streamId, runId: this.#runId, program, principal }, batch)
    }
    return done
  }

  /** Ends the run as completed, or as stopped if a stop was requested first. */
  async #complete(ended: Extract<ExecutionResult, { outcome: 'done' }>, session: Session): Promise<void> {
    const { finalItems, finishReason, line } = ended
    const checkpointId = this.#work?.checkpointId
    // An agent returns its last line, so that its last step need not be read.
    if (this.#options.definition?.kind === 'workflow') await this.#readAll(session)
    await this.#decide(ticket => {
      if (ticket.run?.runId !== this.#runId) return undefined
      const end = mustStop(ticket) ? stoppedEnd(ticket, checkpointId) : completedEnd(finishReason, checkpointId)
      return [...finalItems, ...end]
    }, line)
  }

  /** Commits the pause if the run still waits. Returns false if it can continue. */
  async #pause({ on }: Extract<ExecutionResult, { outcome: 'waiting' }>, session: Session): Promise<boolean> {
    await this.#readAll(session)
    const now = await session.clock()
    // Without a commit of this drive, an earlier one made it.
    const checkpoint = this.#writer.checkpoint ?? (await session.lastCheckpoint(this.#runId))
    let isStopped = false
    const done = await this.#decide(ticket => {
      isStopped = ticket.run?.runId !== this.#runId || mustStop(ticket)
      if (isStopped || !canPause(ticket, on, now)) return undefined
      return [pauseOf(ticket, session, this.#writer.main, { checkpoint, line: this.#lastLine })]
    })
    if (isStopped) throw STOPPED
    return done !== undefined
  }

  /** Ends the run as stopped or failed. @throws if the run is not this process's to end. */
  async #fail(error: unknown, session: Session): Promise<void> {
    const { logger } = this.#settings
    const writer = this.#writer
    writer.signal.throwIfAborted()
    if (error instanceof LogError && RECOVERABLE_LOG_ERRORS.has(error.code)) throw error
    // Prevents new entries between here and the end.
    this.#controller.abort(error)
    // If the program was not prepared yet, the log has the checkpoint.
    const checkpointId = this.#work?.checkpointId ?? (await session.lastCheckpoint(this.#runId))?.checkpointId
    const failure = error === STOPPED ? undefined : failureOf(error)
    // Includes sub-agents that started just now.
    await this.#readAll(session)
    let isFailed = false
    await this.#decide(ticket => {
      isFailed = false
      if (ticket.run?.runId !== this.#runId) return undefined
      if (mustStop(ticket))
        return [...subAgentEnds(session, writer, stopStatus(ticket)), ...stoppedEnd(ticket, checkpointId)]
      // Without a failure the stop was withdrawn, together with the request that caused it. The next driver continues
      // the run.
      isFailed = failure !== undefined
      if (failure === undefined) return undefined
      const openEnds = [
        ...unfinishedObjectEntries(session, writer, failure.code),
        ...subAgentEnds(session, writer, 'interrupted'),
      ]
      return [...incompleteAnswerItems(error), ...openEnds, ...failedEnd(failure, checkpointId)]
    })
    if (isFailed) logger.error('a run failed', { sessionId: writer.streamId, runId: this.#runId, cause: error })
  }
}

const timeBudgetError = ({ budget: { timeMs } }: Program): BudgetError =>
  new BudgetError('budget_time', `the run has taken longer than ${timeMs} ms: raise budget.timeMs`)
