// One run in the hands of one writer: begun or taken over, worked on, ended or handed over.

import { LogError, type StreamManager, type Ticket, type Timers, type Writer } from '@millrace/log'
import { type BatchLike, mustStop, stopStatus } from '@millrace/log/internal'
import type { Chunk, Json } from '@millrace/protocol'
import { MAX_TIMER_MS } from '../async/max-timer-ms.ts'
import { Signal } from '../async/signal.ts'
import { unlessAborted } from '../async/unless-aborted.ts'
import type { Agent } from '../define/agent.ts'
import { type Program, workflowOf } from '../define/program.ts'
import { BudgetError, MillraceError } from '../error/error.ts'
import { runAgent } from '../execute/agent/run-agent.ts'
import type { ExecutionResult, Executor } from '../execute/executor.ts'
import { agentOutput } from '../execute/output-stream.ts'
import { type AgentExecution, checkpointOf, type ProgramExecution } from '../execute/program-execution.ts'
import { unfinishedObjectEntries } from '../execute/replay/cleanup.ts'
import { programAt } from '../execute/replay/journal.ts'
import { completedEnd, failedEnd, failureOf, stoppedEnd, subAgentEnds } from '../execute/run-end.ts'
import { workflowOfProgram } from '../execute/workflow/migration.ts'
import { runWorkflow } from '../execute/workflow/run-workflow.ts'
import type { Backoff } from '../model/backoff.ts'
import { deepCopy } from '../schema/deep-copy.ts'
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
  /** By all names that runs have of them. */
  readonly programs: ReadonlyMap<string, Program>
  readonly timers: Timers
  readonly logger: Logger
  readonly backoff: Backoff
  readonly telemetry: Telemetry
  readonly notices: Notices
  /** How often a run may be taken over without getting any further. */
  readonly maxTakeovers: number
  /** Adds what must not be kept, each time a run is taken up. */
  readonly resolveContext:
    | ((context: Json | undefined, run: { readonly sessionId: string; readonly runId: string }) => unknown)
    | undefined
}

/** What one drive has beside what all have. */
export interface DriveOptions {
  readonly writer: Writer
  readonly program: string
  /** Whose the session is. */
  readonly principal: string | null
  /** None where the run was taken only to be stopped. */
  readonly definition: Program | undefined
  readonly snapshots: Snapshots
  readonly clock: StoreClock
  /** Aborted where the run is to be handed over at its next commit. */
  readonly handover: AbortSignal
}

/** Why the work on a run ends before its end: it was asked to stop. */
const STOPPED = Symbol('stopped')

/** What of a log's trouble says nothing about the run: whoever reaches the log goes on with it. */
const NOT_THE_RUN = new Set(['unavailable', 'fenced', 'regressed', 'absent', 'closed', 'truncated'])

/** Runs the agents and workflows of all runs. */
const executor: Executor = { runAgent: runAgent, runWorkflow: runWorkflow }

export class Drive {
  readonly #settings: DriveSettings
  readonly #options: DriveOptions
  readonly #writer: Writer
  readonly #runId: string
  readonly #controller = new AbortController()
  readonly #ticketChanged = new Signal()
  readonly #told: RunTelemetry
  #work: ProgramExecution | undefined
  #session: Session | undefined
  /** How far the latest snapshot reaches, as far as this drive knows. */
  #kept = 0

  constructor(settings: DriveSettings, options: DriveOptions) {
    this.#settings = settings
    this.#options = options
    this.#writer = options.writer
    this.#runId = options.writer.main.origin.runId
    const agent = options.definition?.kind === 'agent' ? options.definition : undefined
    this.#told = settings.telemetry.drive({ ...options, agent, clock: options.clock.now })
  }

  /** Works until the run ends; whether to look for what is due next: false where another is to go on with this run. */
  async run(): Promise<boolean> {
    const { signal } = this.#writer
    const abort = () => this.abandon(signal.reason)
    signal.addEventListener('abort', abort)
    if (signal.aborted) abort()
    try {
      return await this.#told.agent.within(() => this.#run())
    } catch (error) {
      this.#told.lose(error)
      throw error
    } finally {
      signal.removeEventListener('abort', abort)
      // What still works for this run works for nobody.
      this.#controller.abort(new LogError('closed', 'the run is not driven here any more'))
      this.#told.end(this.#session?.run(this.#runId)?.startedAt)
    }
  }

  /** Lets go at once: whoever goes on tries again what is under way. */
  abandon(reason: unknown): void {
    this.#controller.abort(reason)
  }

  async #run(): Promise<boolean> {
    const { definition } = this.#options
    const writer = this.#writer
    const before = writer.ticket.run === null ? undefined : await this.#open()
    do {
      if (before && (await this.#endAtOnce(before))) return true
      // The stop was taken back, and nobody here can do more.
      if (definition === undefined) return true
      if (before) await this.#mustKnow(definition, before)
      // Said before any code of the program runs; not where a stop has come just now, which ends it with what was shown.
    } while (!(await writer.begin()))
    writer.watch(ticket => this.#look(ticket))
    const session = before ?? (await this.#open())
    if (before === undefined) this.#kept = session.head
    const left = before ? await this.#timeLeft(definition, session) : definition.budget.time
    const cancelTime = this.#limitTime(definition, left)
    try {
      const work = this.#prepare(definition, session)
      for (;;) {
        const ended = await unlessAborted(
          work.then(begun => begun()),
          this.#controller.signal,
        )
        if (ended.outcome === 'handed-over') return false
        if (ended.outcome === 'done') {
          await this.#complete(ended, session)
          // Of a run that waits nothing is held, and where one fails or is stopped something may still be at work.
          session.close()
          return true
        }
        if (await this.#pause(ended, session)) return true
        // Somebody has answered meanwhile.
        await session.catchUp()
      }
    } catch (error) {
      await this.#fail(error, session)
    } finally {
      cancelTime()
    }
    return true
  }

  /** Ends a run that is not to go on before anything of it is taken back: what was shown is kept. Tells whether it did. */
  async #endAtOnce(session: Session): Promise<boolean> {
    const { logger } = this.#settings
    const { definition } = this.#options
    const why = definition && (await this.#verdictOn(definition, session))
    if (why === undefined && !mustStop(this.#writer.ticket)) return false
    const checkpointId = await session.lastCheckpoint(this.#runId)
    let isFailed = false
    const done = await this.#decide(ticket => {
      isFailed = false
      if (ticket.run?.runId !== this.#runId) return undefined
      if (mustStop(ticket))
        return [...subAgentEnds(session, this.#writer, stopStatus(ticket)), ...stoppedEnd(ticket, checkpointId)]
      if (why === undefined) return undefined
      isFailed = true
      // Said here, because what a writer begins with by itself discards the drafts.
      const begins: Chunk[] = ticket.run.paused ? [] : [{ type: 'executor-superseded' }]
      const left = [
        ...unfinishedObjectEntries(session, this.#writer, why.code),
        ...subAgentEnds(session, this.#writer, 'interrupted'),
      ]
      return [...begins, ...left, ...failedEnd(why, checkpointId)]
    })
    if (isFailed) logger.error('a run failed', { sessionId: session.id, runId: this.#runId, cause: why })
    return done !== undefined
  }

  /** Throws, before anything is said, where the run stands in a workflow that only others have: it is theirs, and has not failed. */
  async #mustKnow(definition: Program, session: Session): Promise<void> {
    if (definition.kind !== 'workflow') return
    const program = await programAt(session, this.#runId)
    if (program !== undefined) workflowOfProgram(program, definition, id => workflowOf(this.#settings.programs, id))
  }

  /** Why a run that was driven before cannot go on, if it cannot. */
  async #verdictOn(definition: Program, session: Session): Promise<MillraceError | undefined> {
    const { maxTakeovers } = this.#settings
    const { takeovers = 0 } = session.run(this.#runId) ?? {}
    if (takeovers >= maxTakeovers) {
      return new MillraceError('run_crashed', `the run was taken over ${maxTakeovers} times and got no further`)
    }
    return (await this.#timeLeft(definition, session)) > 0 ? undefined : overtime(definition)
  }

  async #open(): Promise<Session> {
    const { writer, snapshots, clock } = this.#options
    const onRead = (head: number) => {
      if (head - this.#kept < SNAPSHOT_INTERVAL) return
      this.#kept = head
      snapshots.takeNow(writer.streamId)
    }
    const session = await Session.open(this.#settings.manager, writer.streamId, {
      writer,
      onRead,
      onClock: clock.update,
    })
    this.#kept = snapshots.noteRead(session.id, session.snapshot, session.head)
    this.#session = session
    return session
  }

  #look(ticket: Ticket): void {
    if (mustStop(ticket) || ticket.run?.runId !== this.#runId) this.#controller.abort(STOPPED)
    else this.#ticketChanged.notify()
  }

  /** How long the run may still take, by the store's clock: not counted is when it waited for somebody. */
  async #timeLeft({ budget }: Program, session: Session): Promise<number> {
    if (budget.time === Number.POSITIVE_INFINITY) return budget.time
    return budget.time - (await session.activeTime(this.#runId, this.#runId, this.#options.clock.now()))
  }

  #limitTime(definition: Program, left: number): () => void {
    // Timers know no times beyond this; nobody waits for so long in one process.
    if (left > MAX_TIMER_MS) return () => {}
    return this.#settings.timers.after(Math.max(0, left), () => this.#controller.abort(overtime(definition)), true)
  }

  /** All that the program needs to begin; gives what works on the run until it is done or cannot go on. */
  async #prepare(definition: Program, session: Session): Promise<() => Promise<ExecutionResult>> {
    const { timers, logger, backoff, programs } = this.#settings
    const writer = this.#writer
    const runId = this.#runId
    this.#controller.signal.throwIfAborted()
    await session.refresh()
    const context = await this.#context(session)
    this.#controller.signal.throwIfAborted()
    if (session.message(runId, runId) === undefined) await writer.write({ type: 'start' })
    const working: ProgramExecution = {
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
      logger,
      telemetry: this.#told.agent,
      ticketChanged: this.#ticketChanged,
      clock: this.#options.clock.now,
      withCommitLock: inTurn(),
      executor,
      lane: (step, model) =>
        writer.lane({ lane: writer.main.origin.lane, step, ...(model !== undefined && { model }) }),
      workflowOf: id => workflowOf(programs, id),
    }
    if (definition.kind === 'workflow') {
      this.#work = working
      return () => executor.runWorkflow(working, definition)
    }
    await this.#giveState(definition, session)
    const work: AgentExecution = {
      ...working,
      agent: definition,
      history: () => session.history(),
      message: () => session.message(runId, runId),
      output: agentOutput(definition, runId, runId),
    }
    this.#work = work
    return () => executor.runAgent(work)
  }

  /** The state that an agent begins with, where the session has none. */
  async #giveState({ initialState }: Agent, session: Session): Promise<void> {
    if (initialState === undefined || session.state !== undefined) return
    const lane = this.#writer.main
    await lane.commit([{ type: 'state-snapshot', state: initialState }, checkpointOf(lane, false)])
  }

  async #context(session: Session): Promise<Json | undefined> {
    const { resolveContext } = this.#settings
    // A copy, so that nothing that code does to it changes the session.
    const kept = deepCopy(await session.context(this.#runId))
    if (resolveContext === undefined) return kept
    try {
      return (await resolveContext(kept, { sessionId: session.id, runId: this.#runId })) as Json
    } catch (error) {
      if (MillraceError.isInstance(error)) throw error
      throw new MillraceError('agent_failed', 'the context of the run could not be resolved', { cause: error })
    }
  }

  /** Flushes the writer and folds all entries of the run. */
  async #refresh(session: Session): Promise<void> {
    // A failed write rejects for its own caller.
    await this.#writer.flush().catch(() => {})
    await session.refresh()
  }

  /** The last line that the root of the run has said to everybody, as far as that was read. */
  get #line(): string | undefined {
    return lastLineIn(this.#session?.message(this.#runId, this.#runId))
  }

  /** Decides how the run ends, after which last line, or waits. */
  async #decide(build: (ticket: Ticket) => BatchLike | undefined, line = this.#line) {
    const { notices } = this.#settings
    const { definition, clock, program, principal } = this.#options
    let batch: BatchLike | undefined
    const done = await this.#writer.decide(ticket => {
      const said = build(ticket)
      const lined = said && withLastLine(said, line, this.#writer.main)
      batch = lined && notices.owed(lined, { clock: clock.now(), program, isDriven: definition !== undefined })
      return batch
    })
    if (done && batch) {
      this.#told.decided(batch)
      notices.tell({ sessionId: this.#writer.streamId, runId: this.#runId, program, principal }, batch)
    }
    return done
  }

  /** Ends the run as completed, or as it was asked to stop if somebody was faster. */
  async #complete(ended: Extract<ExecutionResult, { outcome: 'done' }>, session: Session): Promise<void> {
    const { facts, finishReason, line } = ended
    const checkpointId = this.#work?.checkpointId
    // An agent tells its last line itself, so that what it said last need not be read for that.
    if (this.#options.definition?.kind === 'workflow') await this.#refresh(session)
    await this.#decide(ticket => {
      if (ticket.run?.runId !== this.#runId) return undefined
      const end = mustStop(ticket) ? stoppedEnd(ticket, checkpointId) : completedEnd(finishReason, checkpointId)
      return [...facts, ...end]
    }, line)
  }

  /** Says that the run waits, where it still does; tells false where it can go on. Then nothing of it is held here. */
  async #pause({ on }: Extract<ExecutionResult, { outcome: 'waiting' }>, session: Session): Promise<boolean> {
    await this.#refresh(session)
    const now = await session.clock()
    let isStopped = false
    const done = await this.#decide(ticket => {
      isStopped = ticket.run?.runId !== this.#runId || mustStop(ticket)
      if (isStopped || !canPause(ticket, on, now)) return undefined
      return [pauseOf(ticket, session, this.#writer.main, this.#line)]
    })
    if (isStopped) throw STOPPED
    return done !== undefined
  }

  /** Ends the run as stopped or as failed; throws where it is not this process's to end. */
  async #fail(error: unknown, session: Session): Promise<void> {
    const { logger } = this.#settings
    const writer = this.#writer
    writer.signal.throwIfAborted()
    if (error instanceof LogError && NOT_THE_RUN.has(error.code)) throw error
    // Nothing new begins, and nothing that still goes on gets between here and the end.
    this.#controller.abort(error)
    // Before the work has found out where it stands the log tells.
    const checkpointId = this.#work?.checkpointId ?? (await session.lastCheckpoint(this.#runId))
    const failure = error === STOPPED ? undefined : failureOf(error)
    // Also a sub-agent that began just now ends with it.
    await this.#refresh(session)
    let isFailed = false
    await this.#decide(ticket => {
      isFailed = false
      if (ticket.run?.runId !== this.#runId) return undefined
      if (mustStop(ticket))
        return [...subAgentEnds(session, writer, stopStatus(ticket)), ...stoppedEnd(ticket, checkpointId)]
      // Without a failure the stop was taken back, with the request that it made room for: whoever claims the run next goes on with it.
      isFailed = failure !== undefined
      if (failure === undefined) return undefined
      const left = [
        ...unfinishedObjectEntries(session, writer, failure.code),
        ...subAgentEnds(session, writer, 'interrupted'),
      ]
      return [...left, ...failedEnd(failure, checkpointId)]
    })
    if (isFailed) logger.error('a run failed', { sessionId: writer.streamId, runId: this.#runId, cause: error })
  }
}

const overtime = ({ budget: { time } }: Program): BudgetError =>
  new BudgetError('budget_time', `the run has taken longer than ${time} ms`)

/** Does one thing after the other, whatever becomes of them. */
function inTurn(): ProgramExecution['withCommitLock'] {
  let last: Promise<unknown> = Promise.resolve()
  return work => {
    const done = last.then(work)
    last = done.catch(() => {})
    return done
  }
}
