import { randomUUID } from 'node:crypto'
import { type StreamInfo, StreamManager, systemTimers, type Ticket } from '@millrace/log'
import type { Run as Begun, RunRequest, View } from '@millrace/protocol'
import type { Agent, OutputOfAgent } from '../define/agent.ts'
import type { Program } from '../define/program.ts'
import type { Workflow, WorkflowOutput } from '../define/workflow.ts'
import { Driver } from '../drive/driver.ts'
import { type Engine, inProcessEngine } from '../drive/engine.ts'
import { Notices } from '../drive/notices.ts'
import { checkObject } from '../error/check-object.ts'
import { RunError } from '../error/error.ts'
import { DEFAULT_BACKOFF } from '../model/backoff.ts'
import { isSessionUnknown, sessionUnknown, withLog } from '../session/log-errors.ts'
import { contextOf } from '../session/run-context.ts'
import { readUpload, type StoredUpload, storeUpload, type UploadInput } from '../session/upload.ts'
import { consoleLogger, safeLogger } from '../telemetry/logger.ts'
import { Telemetry } from '../telemetry/telemetry.ts'
import type { Answer, AnswerOptions } from './answer.ts'
import { type DescribeOptions, describeSession } from './description.ts'
import { KeyedQueue } from './keyed-queue.ts'
import { programOf } from './program.ts'
import { overtaken, refusalOf } from './refusal.ts'
import {
  messageOf,
  mustBeNew,
  type RequestOptions,
  type RunSpec,
  requestFor,
  requestOf,
  runOf,
  type UserInput,
} from './request.ts'
import { type ObservedSession, type ResumeOptions, resumption } from './resumption.ts'
import { repetition, revision, runOfMessage } from './revision.ts'
import { Run, type RunHost, type StopOptions } from './run.ts'
import { BLOCKED_AFTER_MS, checkOptions, MAX_TAKEOVERS, type RuntimeOptions } from './runtime-options.ts'
import { type SessionStatus, statusOf } from './status.ts'
import { type Answered, type AnswerTarget, type ClaimOptions, claimCall, submitAnswer } from './submit-answer.ts'

/** What is said of any run that is asked for. */
interface Starting extends RequestOptions {
  /** The session; if none is named a new one, of the run's own id where that is given. */
  readonly session?: string
  readonly input?: UserInput
  readonly messageId?: string
}

export interface StartOptions<A extends Agent | string = Agent | string> extends Starting {
  readonly agent: A
}

export interface StartWorkflowOptions<W extends Workflow | string = Workflow | string> extends Starting {
  /** A workflow, or its id. */
  readonly workflow: W
}

export interface ForkOptions {
  /** The last entry that goes along; all, if nothing is said. */
  readonly at?: number
  /** The id of the new session. */
  readonly session?: string
  /** Whose it is. */
  readonly principal?: string
}

/** What is asked for of a run that was there before, and that run. */
interface AskedAgain {
  readonly of: Begun
  readonly asked: RunSpec
}

/** Runs of agents and workflows over one store: asks for them, shows them, and drives them unless others do. */
export class Runtime implements RunHost {
  readonly manager: StreamManager
  readonly #programs: ReadonlyMap<string, Program>
  readonly #engine: Engine | undefined
  readonly #blockedAfterMs: number
  readonly #telemetry: Telemetry
  readonly #notices: Notices
  readonly #answerQueue = new KeyedQueue()
  #isClosed = false

  constructor(options: RuntimeOptions) {
    this.#programs = checkOptions(options)
    const { store, engine = {}, log, timers = systemTimers, logger = consoleLogger } = options
    this.#blockedAfterMs = options.blockedAfterMs ?? BLOCKED_AFTER_MS
    this.manager = new StreamManager({ ...log, store, timers })
    const told = safeLogger(logger)
    this.#telemetry = new Telemetry(options.telemetry, told)
    this.#notices = new Notices({
      manager: this.manager,
      observers: [...(options.observers ?? [])],
      programs: this.#programs.keys(),
      timers,
      logger: told,
    })
    if (engine === false) return
    const driver = new Driver({
      manager: this.manager,
      programs: this.#programs,
      timers,
      logger: told,
      telemetry: this.#telemetry,
      notices: this.#notices,
      backoff: { ...DEFAULT_BACKOFF, ...options.backoff },
      maxTakeovers: options.maxTakeovers ?? MAX_TAKEOVERS,
      resolveContext: options.resolveContext,
    })
    this.#engine = 'start' in engine ? engine : inProcessEngine({ timers, ...engine })
    this.#engine.start(driver)
  }

  /** Asks for a run; who asks again under the same `runId` gets the same run. */
  start<A extends Agent | string>(options: StartOptions<A>): Promise<Run<OutputOfAgent<A>>>
  start<W extends Workflow | string>(options: StartWorkflowOptions<W>): Promise<Run<WorkflowOutput<W>>>
  async start(options: StartOptions | StartWorkflowOptions): Promise<Run> {
    checkObject('start', options)
    const { runId = randomUUID(), session = options.runId ?? randomUUID(), input, messageId, principal } = options
    const program = programOf(this.#programs, options)
    const message = input === undefined ? undefined : messageOf(input, messageId)
    const asked = { program, ...(message && { message }) }
    // An id that was made just now is nobody else's, and the session need not be read for it.
    const isNamed = message !== undefined && messageId !== undefined
    const ask = () => this.#askNew(session, asked, runId, options, isNamed)
    try {
      return await ask()
    } catch (error) {
      if (!isSessionUnknown(error)) throw error
    }
    // Only now: what can never be asked for makes no session.
    await withLog(session, () => this.manager.createStream(session, principal ?? undefined))
    return ask()
  }

  /** A run that was asked for, here or elsewhere. */
  run<Output = unknown>(sessionId: string, runId: string): Run<Output> {
    return new Run(this, sessionId, runId)
  }

  /** Goes on from an interrupted run, or from a checkpoint of one that has ended, by another that names it. */
  async resume(sessionId: string, runId: string, options: ResumeOptions & RequestOptions = {}): Promise<Run> {
    if (options?.mode === 'with-confirmation' && (await this.#confirm(sessionId, runId, options))) {
      return new Run(this, sessionId, runId)
    }
    const repeats = ({ resume }: RunRequest) => resume?.runId === runId
    return this.#askAgain(sessionId, options, repeats, async seen => {
      const of = runOf(seen.view, runId)
      return { of, asked: await resumption(this.manager, sessionId, of, seen, options) }
    })
  }

  /** Answers all that a paused run wants to have approved; tells whether there was something, and throws where none of it counted. */
  async #confirm(
    sessionId: string,
    runId: string,
    { approved, reason, guest, principal }: Extract<ResumeOptions, { mode: 'with-confirmation' }> & RequestOptions,
  ): Promise<boolean> {
    const { run, pendings } = (await this.#info(sessionId)).ticket
    const asked = run?.runId === runId && run.paused ? pendings.filter(({ kind }) => kind === 'approval') : []
    const missed: RunError[] = []
    for (const { id } of asked) {
      const answer = { kind: 'approval', id, approved, ...(reason !== undefined && { reason }) } as const
      try {
        await this.answer(sessionId, answer, { ...(guest !== undefined && { guest }), ...(principal && { principal }) })
      } catch (error) {
        // What somebody else has answered meanwhile, or whose time is over, keeps nobody from answering the rest.
        if (!(error instanceof RunError) || !MISSED.includes(error.code)) throw error
        missed.push(error)
      }
    }
    // Who said no, where all of it was approved by another, must not take it for theirs.
    if (missed[0] && missed.length === asked.length) throw missed[0]
    return asked.length > 0
  }

  /** Does a turn again, with the same message, in place of all that came of it; the latest, if none is named. */
  retry(sessionId: string, runId?: string, options: RequestOptions = {}): Promise<Run> {
    // The latest is what was that when it was asked for: who asks at the same time means the same.
    let id = runId
    return this.#askAgain(sessionId, options, isCutFor('retry'), ({ view }) => {
      id ??= view.runs.at(-1)?.runId
      if (id === undefined) throw new RunError('run_unknown', `there is no run in ${sessionId} to do again`)
      const of = runOf(view, id)
      return { of, asked: repetition(this.#programs, view, of) }
    })
  }

  /** Puts another message in place of a person's, and of all that came of it; what was sent along with that goes too, unless it is given anew. */
  edit(
    sessionId: string,
    messageId: string,
    input: UserInput,
    options: RequestOptions & { readonly newMessageId?: string } = {},
  ): Promise<Run> {
    return this.#askAgain(sessionId, options, isCutFor('edit'), ({ view }) => {
      const of = runOfMessage(view, messageId)
      return { of, asked: revision(this.#programs, view, of, input, options.newMessageId) }
    })
  }

  /** Makes another session from the beginning of one; tells its id. What was open there is ended in it. */
  async fork(sessionId: string, options: ForkOptions = {}): Promise<string> {
    checkObject('options', options)
    const { session = randomUUID(), principal } = options
    const at = options.at ?? (await this.#info(sessionId)).head
    await withLog(sessionId, () => this.manager.forkStream(sessionId, at, session, principal))
    return session
  }

  /** Says what a session is called, for lists, whatever runs in it; tells the sequence of the entry that says so. */
  async describe(sessionId: string, options: DescribeOptions): Promise<{ readonly sequence: number }> {
    this.#mustBeOpen('describe')
    return withLog(sessionId, () => describeSession(this.manager, sessionId, options))
  }

  /** Keeps a file with a session, for as long as the session: a message names it by the url that it is given. */
  upload(sessionId: string, upload: UploadInput): Promise<StoredUpload> {
    checkObject('upload', upload)
    return withLog(sessionId, () => storeUpload(this.manager, sessionId, upload))
  }

  /** A file that a session keeps; undefined where it keeps none under that hash. */
  uploaded(sessionId: string, hash: string): Promise<UploadInput | undefined> {
    return withLog(sessionId, () => readUpload(this.manager, sessionId, hash))
  }

  /** Asks a run to stop, or takes its request back; false where it has ended or somebody else was first. */
  async stop(
    sessionId: string,
    runId: string,
    options: StopOptions & Pick<RequestOptions, 'guest' | 'principal'> = {},
  ): Promise<boolean> {
    checkObject('options', options)
    const { mode = 'interrupt', reason, guest = 'runtime', principal } = options
    const chunk = { type: 'stop-requested', runId, mode, ...(reason !== undefined && { reason }) } as const
    const whose = principal === undefined ? {} : { principal }
    const done = await withLog(sessionId, () => this.manager.append(sessionId, guest, chunk, whose))
    if (done.outcome !== 'refused') {
      this.#engine?.wake(sessionId)
      return true
    }
    if (principal !== undefined && (await this.#info(sessionId)).principal !== principal)
      throw sessionUnknown(sessionId)
    const { view } = await this.#view(sessionId)
    if (!requestFor(view, runId)) runOf(view, runId)
    return false
  }

  /** Answers what a run waits for: an approval, a client's tool, a question. The first answer counts; throws why another does not. */
  async answer(sessionId: string, answer: Answer, options: AnswerOptions = {}): Promise<Answered> {
    this.#mustBeOpen('answer')
    const given = await withLog(sessionId, () => submitAnswer(this.#answering, sessionId, answer, options))
    const { runId, ...done } = given
    if (runId !== undefined) this.#telemetry.asked(runId)
    this.#engine?.wake(sessionId)
    return done
  }

  /** Takes the call of a client's tool upon oneself for a while, so that nobody else runs it meanwhile; tells until when. */
  async claim(sessionId: string, toolCallId: string, options: ClaimOptions): Promise<{ readonly until: number }> {
    this.#mustBeOpen('claim')
    return withLog(sessionId, () => claimCall(this.#answering, sessionId, toolCallId, options))
  }

  get #answering(): AnswerTarget {
    return { manager: this.manager, programs: this.#programs, queue: this.#answerQueue }
  }

  /** What a session shows, and its ticket. */
  async view(sessionId: string): Promise<{ view: Omit<View, 'internal'>; ticket: Ticket }> {
    const { view, ticket } = await this.#view(sessionId)
    const { internal, ...shown } = view
    return { view: shown, ticket }
  }

  /** What a session is doing, and why it does nothing if something is due in it. */
  async status(sessionId: string): Promise<SessionStatus> {
    return statusOf(await this.#info(sessionId), this.#blockedAfterMs)
  }

  /** Hands over what is driven here, and lets everything go; whoever reads reads on, and nothing is asked for or answered any more. The store stays open. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#engine?.stop()
    await this.#notices.close()
    await this.manager.close()
  }

  #view(sessionId: string) {
    return withLog(sessionId, () => this.manager.view(sessionId))
  }

  async #info(sessionId: string): Promise<StreamInfo> {
    const info = await withLog(sessionId, () => this.manager.getInfo(sessionId))
    if (info) return info
    throw sessionUnknown(sessionId)
  }

  /** Asks for a run of its own; where its message was given an id, on a session in which that is new. */
  async #askNew<Output>(
    sessionId: string,
    asked: RunSpec,
    runId: string,
    options: RequestOptions,
    isNamed: boolean,
  ): Promise<Run<Output>> {
    for (;;) {
      let version: string | undefined
      if (isNamed && asked.message) {
        const info = await withLog(sessionId, () => this.manager.getInfo(sessionId))
        const { view } = info ? await this.#view(sessionId) : {}
        // Who asks again means the same message.
        if (view && requestFor(view, runId) === undefined) mustBeNew(view, asked.message.messageId)
        // No session is at no version: one that somebody makes meanwhile is looked at.
        version = info?.version ?? ''
      }
      const run = await this.#ask<Output>(sessionId, asked, runId, options, version)
      if (run) return run
    }
  }

  /** Asks for something that was decided on what the session shows; where that has moved meanwhile, it is decided again (law 5). */
  async #askAgain(
    sessionId: string,
    options: RequestOptions,
    repeats: (request: RunRequest) => boolean,
    decide: (seen: ObservedSession) => AskedAgain | Promise<AskedAgain>,
  ): Promise<Run> {
    checkObject('options', options)
    const runId = options.runId ?? randomUUID()
    for (let latest: string | undefined, tries = 1; ; tries++) {
      const { version, floor } = await this.#info(sessionId)
      const { view, ticket } = await this.#view(sessionId)
      const known = requestFor(view, runId)
      if (known) {
        if (repeats(known)) return new Run(this, sessionId, runId, known.at)
        throw refusalOf('already-settled', runId)
      }
      const { of, asked } = await withLog(sessionId, async () => decide({ view, ticket, floor }))
      const now = view.runs.at(-1)?.runId
      // Who asked did not see it, and might take it back, or go on from what is not the end any more.
      if (tries > 1 && now !== latest) throw overtaken(runId, now)
      latest = now
      const context =
        options.context ?? (await withLog(sessionId, () => contextOf(this.manager, sessionId, view, of.runId)))
      const run = await this.#ask(
        sessionId,
        asked,
        runId,
        { ...options, ...(context !== undefined && { context }) },
        version,
      )
      if (run) return run
    }
  }

  /** Asks for a run; undefined where the session is not at the version any more on which that was decided. */
  async #ask<Output>(
    sessionId: string,
    asked: RunSpec,
    runId: string,
    options: RequestOptions,
    ifVersion?: string,
  ): Promise<Run<Output> | undefined> {
    // Nobody here would drive it, and who asks would wait for ever.
    this.#mustBeOpen(`run ${runId}`)
    const { guest = 'runtime', context, principal } = options
    const beside = {
      ...(context !== undefined && { context }),
      ...(ifVersion !== undefined && { ifVersion }),
      ...(principal !== undefined && { principal }),
    }
    const request = requestOf(asked, runId, options)
    const done = await withLog(sessionId, () => this.manager.append(sessionId, guest, request, beside))
    if (done.outcome === 'refused') {
      if (done.reason === 'moved') return undefined
      throw refusalOf(done.reason, runId)
    }
    this.#telemetry.asked(runId)
    this.#engine?.wake(sessionId)
    return new Run<Output>(this, sessionId, runId, done.first)
  }

  #mustBeOpen(what: string): void {
    if (this.#isClosed) throw new RunError('runtime_closed', `${what}: the runtime was closed, make another`)
  }
}

/** Why an answer of several did not count, and the others may. */
const MISSED: readonly string[] = ['answer_already_settled', 'answer_late']

const isCutFor =
  (reason: string) =>
  ({ cut }: RunRequest): boolean =>
    cut?.reason === reason

/** Makes a runtime; it drives what is due from now on, unless told not to. */
export const createRuntime = (options: RuntimeOptions): Runtime => new Runtime(options)
