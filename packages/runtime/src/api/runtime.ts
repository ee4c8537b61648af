import { randomUUID } from 'node:crypto'
import { type StreamInfo, StreamManager, systemTimers, type Ticket } from '@millrace/log'
import type { Interrupt, Json, Run as LoggedRun, RunRequest, View } from '@millrace/protocol'
import { KeyedQueue } from '../async/keyed-queue.ts'
import type { Agent, OutputOfAgent } from '../define/agent.ts'
import { type Program, programOf } from '../define/program.ts'
import type { Workflow, WorkflowOutput } from '../define/workflow.ts'
import { Driver } from '../drive/driver.ts'
import { type Engine, type InProcessOptions, inProcessEngine } from '../drive/engine.ts'
import { Notices } from '../drive/notices.ts'
import { RetentionSweep, storeExpiryMs } from '../drive/retention-sweep.ts'
import { checkObject } from '../error/check-object.ts'
import { RunError } from '../error/error.ts'
import { backoffOf } from '../model/backoff.ts'
import { modelLimitsOf } from '../model/model-limits.ts'
import { SchemaChecker } from '../schema/schema-checker.ts'
import { isSessionUnknown, isUnavailable, sessionUnknown, withLog } from '../session/log-errors.ts'
import { runContextOf } from '../session/run-context.ts'
import { readUpload, type StoredUpload, storeUpload, type UploadInput } from '../session/upload.ts'
import { consoleLogger, safeLogger } from '../telemetry/logger.ts'
import { Telemetry } from '../telemetry/telemetry.ts'
import { type Answer, type AnswerMode, type AnswerOptions, responseProblem } from './answer.ts'
import { type DescribeOptions, describeSession } from './describe-session.ts'
import {
  checkNewMessageId,
  messageOf,
  overtakenError,
  type RequestOptions,
  type RunSpec,
  requestFor,
  requestOf,
  requestRefusal,
  runOf,
  type UserInput,
} from './request.ts'
import { type ObservedSession, type ResumeOptions, resumeSpec, runToResume } from './resumption.ts'
import { editSpec, retrySpec, runOfMessage } from './revision.ts'
import { Run, type RunHost, type StopOptions } from './run.ts'
import {
  checkOptions,
  DEFAULT_BLOCKED_AFTER_MS,
  DEFAULT_MAX_TAKEOVERS,
  type RuntimeOptions,
} from './runtime-options.ts'
import { type SessionStatus, sessionStatusOf } from './session-status.ts'
import { type Answered, type AnswerTarget, type ClaimOptions, claimCall, submitAnswer } from './submit-answer.ts'

/** Common options of `start`. */
interface CommonStartOptions extends RequestOptions {
  /** Id of the session. @default a new session, whose id is `runId` or else a random UUID */
  readonly session?: string
  /** The user's message: text, or parts. @default no message */
  readonly input?: UserInput
  /** Id of the message. @default a random UUID */
  readonly messageId?: string
}

/** Options of `runtime.start` for an agent. */
export interface StartOptions<A extends Agent | string = Agent | string> extends CommonStartOptions {
  /** An agent, or its name. */
  readonly agent: A
}

/** Options of `runtime.start` for a workflow. */
export interface StartWorkflowOptions<W extends Workflow | string = Workflow | string> extends CommonStartOptions {
  /** A workflow, or its id. */
  readonly workflow: W
}

/** Options of a fork. */
export interface ForkOptions {
  /** Sequence of the last entry to copy. @default the head */
  readonly at?: number
  /** Id of the new session. @default a random UUID */
  readonly session?: string
  /** Owner of the new session. @default none */
  readonly principal?: string
}

/** A request that repeats, edits or resumes an earlier run. */
interface DerivedRequest {
  readonly earlierRun: LoggedRun
  readonly spec: RunSpec
}

let checkerOf: (runtime: Runtime) => SchemaChecker

/** Runs agents and workflows with one store: requests, reads and drives runs, unless other processes drive. */
export class Runtime implements RunHost {
  static {
    checkerOf = runtime => runtime.#checker
  }

  /** The log of the runtime: its sessions as streams. */
  readonly manager: StreamManager
  readonly #programs: ReadonlyMap<string, Program>
  readonly #engine: Engine | undefined
  readonly #blockedAfterMs: number
  readonly #telemetry: Telemetry
  readonly #notices: Notices
  readonly #retention: RetentionSweep | undefined
  readonly #checker: SchemaChecker
  // An answer behind one that timed out has waited as long, so it fails, too.
  readonly #answerQueue = new KeyedQueue(isUnavailable)
  #isClosed = false

  constructor(options: RuntimeOptions) {
    this.#programs = checkOptions(options)
    const { store, engine = {}, log, timers = systemTimers, logger = consoleLogger } = options
    this.#blockedAfterMs = options.blockedAfterMs ?? DEFAULT_BLOCKED_AFTER_MS
    const safe = safeLogger(logger)
    const onHeartbeatFailed = (cause: Error) => safe.warn('renews leases in the event loop: no heartbeat', { cause })
    this.manager = new StreamManager({ onHeartbeatFailed, ...log, store, timers })
    this.#checker = new SchemaChecker({ answerCheckMs: options.answerCheckMs, now: () => timers.now() })
    this.#telemetry = new Telemetry(options.telemetry, safe)
    this.#notices = new Notices({
      manager: this.manager,
      observers: [...(options.observers ?? [])],
      programs: this.#programs.keys(),
      timers,
      logger: safe,
    })
    if (engine === false) return
    const driver = new Driver({
      manager: this.manager,
      programs: this.#programs,
      timers,
      logger: safe,
      telemetry: this.#telemetry,
      notices: this.#notices,
      backoff: backoffOf(options.backoff),
      modelLimits: modelLimitsOf('modelLimits', options.modelLimits),
      checker: this.#checker,
      maxTakeovers: options.maxTakeovers ?? DEFAULT_MAX_TAKEOVERS,
      resolveContext: options.resolveContext,
      expireAfterMs: storeExpiryMs(options.retention, store),
    })
    this.#engine = 'start' in engine ? engine : inProcessEngine({ timers, ...engine })
    this.#engine.start(driver)
    const { retention } = options
    if (retention === undefined) return
    // A pass stops at a store that is unavailable, instead of waiting for it.
    const openManager = () => new StreamManager({ ...log, store, timers, retryTimeoutMs: 0 })
    this.#retention = new RetentionSweep({ rule: { ...retention }, openManager, timers, logger: safe })
    this.#retention.start()
  }

  /**
   * Requests a run. A second request with the same `runId` returns the same run.
   * @throws {ValidationError} if an option is invalid.
   * @throws {RunError} such as `run_busy`, `run_queue_full` or `program_unknown`.
   */
  start<A extends Agent | string>(options: StartOptions<A>): Promise<Run<OutputOfAgent<A>>>
  start<W extends Workflow | string>(options: StartWorkflowOptions<W>): Promise<Run<WorkflowOutput<W>>>
  async start(options: StartOptions | StartWorkflowOptions): Promise<Run> {
    checkObject('start', options)
    const { runId = randomUUID(), session = options.runId ?? randomUUID(), input, messageId, principal } = options
    const program = programOf(this.#programs, options)
    const message = input === undefined ? undefined : messageOf(input, messageId)
    const spec = { program, ...(message && { message }) }
    // A random id is unique, so the session need not be read for it.
    const hasGivenId = message !== undefined && messageId !== undefined
    const request = () => this.#requestNew(session, spec, runId, options, hasGivenId)
    try {
      return await request()
    } catch (error) {
      if (!isSessionUnknown(error)) throw error
    }
    // Created only now, so that an invalid request creates no session.
    await withLog(session, () => this.manager.createStream(session, principal ?? undefined))
    return request()
  }

  /** A handle of a run that was requested before, in any process. Does not check that the run exists. */
  run<Output = unknown>(sessionId: string, runId: string): Run<Output> {
    return new Run(this, sessionId, runId)
  }

  /**
   * Resumes an interrupted run, or an ended run from a checkpoint, by a new run. A paused run with `with-confirmation`
   * continues itself. Without `runId`: the run of the checkpoint, or else the latest run.
   * @throws {RunError} `run_unknown`, `run_not_resumable`, `run_cut_refused` or `run_busy` if it cannot be resumed.
   */
  async resume(
    sessionId: string,
    runId: string | undefined,
    options: ResumeOptions & RequestOptions = {},
  ): Promise<Run> {
    checkObject('options', options)
    const { mode } = options
    if (mode === 'with-confirmation') {
      const confirmed = await this.#confirm(sessionId, runId, options)
      if (confirmed !== undefined) return new Run(this, sessionId, confirmed)
    }
    // Without a run id, a repeated request names the same checkpoint, or the run that was the latest then.
    const isSameRequest = ({ resume }: RunRequest) =>
      resume !== undefined &&
      (runId === undefined
        ? mode !== 'from-checkpoint' || resume.fromCheckpointId === options.checkpointId
        : resume.runId === runId)
    return this.#requestDerived(sessionId, options, isSameRequest, async session => {
      const earlierRun = await runToResume(this.manager, sessionId, session, runId, options)
      return { earlierRun, spec: await resumeSpec(this.manager, sessionId, earlierRun, session, options) }
    })
  }

  /**
   * Answers all pending approvals of a paused run. Returns the run, or undefined if it waits for none.
   * @throws {RunError} if no answer was accepted.
   */
  async #confirm(
    sessionId: string,
    runId: string | undefined,
    { approved, reason, guest, principal }: Extract<ResumeOptions, { mode: 'with-confirmation' }> & RequestOptions,
  ): Promise<string | undefined> {
    const { run, pendings } = (await this.#info(sessionId)).ticket
    const isPaused = run?.paused && (runId === undefined || run.runId === runId)
    const approvals = isPaused ? pendings.filter(({ kind }) => kind === 'approval') : []
    const rejections: RunError[] = []
    for (const { id } of approvals) {
      const answer = { kind: 'approval', id, approved, ...(reason !== undefined && { reason }) } as const
      try {
        const answerOptions = { ...(guest !== undefined && { guest }), ...(principal && { principal }) }
        await this.#answer(sessionId, answer, answerOptions, 'with-confirmation')
      } catch (error) {
        // An approval that was answered or expired meanwhile must not prevent the others.
        if (!(error instanceof RunError) || !TOO_LATE_CODES.includes(error.code)) throw error
        rejections.push(error)
      }
    }
    // If another user answered all of them, this answer did not count.
    if (rejections[0] && rejections.length === approvals.length) throw rejections[0]
    return approvals.length > 0 ? run?.runId : undefined
  }

  /**
   * Repeats a turn with the same message, replacing its answer: the turn of `runId`, or else the latest one.
   * @throws {RunError} `run_unknown` if there is no such run, `run_cut_refused` if it was removed, or a code of `start`.
   */
  retry(sessionId: string, runId?: string, options: RequestOptions = {}): Promise<Run> {
    // Fixed at the first attempt: concurrent requests mean the same turn.
    let id = runId
    return this.#requestDerived(sessionId, options, isRewindFor('retry'), ({ view }) => {
      id ??= view.runs.at(-1)?.runId
      if (id === undefined) throw new RunError('run_unknown', `session ${sessionId} has no run to retry: start one`)
      const earlierRun = runOf(view, id)
      return { earlierRun, spec: retrySpec(this.#programs, view, earlierRun) }
    })
  }

  /**
   * Replaces a user message, its data and everything after it. `newMessageId` is the id of the new message, by default a
   * random UUID.
   * @throws {RunError} `run_unknown` if the message started no run, or a code of `start`.
   */
  edit(
    sessionId: string,
    messageId: string,
    input: UserInput,
    options: RequestOptions & { readonly newMessageId?: string } = {},
  ): Promise<Run> {
    return this.#requestDerived(sessionId, options, isRewindFor('edit'), ({ view }) => {
      const earlierRun = runOfMessage(view, messageId)
      return { earlierRun, spec: editSpec(this.#programs, view, earlierRun, input, options.newMessageId) }
    })
  }

  /**
   * Copies the start of a session to a new one, and returns its id. Open runs are ended in the copy.
   * @throws {RunError} such as `session_unknown` or `session_exists`.
   */
  async fork(sessionId: string, options: ForkOptions = {}): Promise<string> {
    checkObject('options', options)
    const { session = randomUUID(), principal } = options
    const at = options.at ?? (await this.#info(sessionId)).head
    await withLog(sessionId, () => this.manager.forkStream(sessionId, at, session, principal))
    return session
  }

  /**
   * Sets title and metadata of a session. Returns the sequence of the entry.
   * @throws {ValidationError} if both are absent or one is invalid.
   * @throws {RunError} `session_unknown` if the session does not exist.
   */
  async describe(sessionId: string, options: DescribeOptions): Promise<{ readonly sequence: number }> {
    this.#checkOpen('describe')
    return withLog(sessionId, () => describeSession(this.manager, sessionId, options))
  }

  /**
   * Stores a file in a session, for as long as the session exists. Messages refer to it by the returned URL.
   * @throws {ValidationError} if `upload` is not an object.
   * @throws {RunError} `session_unknown` if the session does not exist.
   */
  upload(sessionId: string, upload: UploadInput): Promise<StoredUpload> {
    checkObject('upload', upload)
    return withLog(sessionId, () => storeUpload(this.manager, sessionId, upload))
  }

  /** Reads a file of a session; undefined if the session does not exist or has no file with that hash. */
  uploaded(sessionId: string, hash: string): Promise<UploadInput | undefined> {
    return withLog(sessionId, () => readUpload(this.manager, sessionId, hash))
  }

  /**
   * Requests a stop of a run, or cancels its request. Returns false if the run has ended or was already stopped.
   * @throws {RunError} `run_unknown` or `session_unknown` if it does not exist.
   */
  async stop(
    sessionId: string,
    runId: string,
    options: StopOptions & Pick<RequestOptions, 'guest' | 'principal'> = {},
  ): Promise<boolean> {
    checkObject('options', options)
    const { mode = 'interrupt', reason, guest = 'runtime', principal } = options
    const chunk = { type: 'stop-requested', runId, mode, ...(reason !== undefined && { reason }) } as const
    const owner = principal === undefined ? {} : { principal }
    const appended = await withLog(sessionId, () => this.manager.append(sessionId, guest, chunk, owner))
    if (appended.outcome !== 'refused') {
      this.#engine?.wake(sessionId)
      return true
    }
    if (principal !== undefined && (await this.#info(sessionId)).principal !== principal)
      throw sessionUnknown(sessionId)
    const { view } = await this.#view(sessionId)
    if (!requestFor(view, runId)) runOf(view, runId)
    return false
  }

  /**
   * Answers a pending of a run: an approval, a client tool call or an interrupt. The first answer counts.
   * @throws {ValidationError} if the answer is malformed.
   * @throws {RunError} with a code that begins with `answer_` if the answer is rejected.
   * @throws {CheckLimitError} if the principal has used up its time for checks of answers.
   */
  answer(sessionId: string, answer: Answer, options: AnswerOptions = {}): Promise<Answered> {
    return this.#answer(sessionId, answer, options)
  }

  /** Answers a pending, as part of a resume if `mode` is given. */
  async #answer(sessionId: string, answer: Answer, options: AnswerOptions, mode?: AnswerMode): Promise<Answered> {
    this.#checkOpen('answer')
    const accepted = await withLog(sessionId, () => submitAnswer(this.#answerTarget, sessionId, answer, options, mode))
    const { runId, ...answered } = accepted
    if (runId !== undefined) this.#telemetry.onRequest(runId)
    this.#engine?.wake(sessionId)
    return answered
  }

  /**
   * Claims a client tool call for a limited time, so that no other client executes it. Returns the end of the claim, in
   * ms by the store's clock.
   * @throws {ValidationError} if an option is invalid.
   * @throws {RunError} such as `answer_claimed` if it cannot be claimed.
   */
  async claim(sessionId: string, toolCallId: string, options: ClaimOptions): Promise<{ readonly until: number }> {
    this.#checkOpen('claim')
    return withLog(sessionId, () => claimCall(this.#answerTarget, sessionId, toolCallId, options))
  }

  get #answerTarget(): AnswerTarget {
    return { manager: this.manager, programs: this.#programs, queue: this.#answerQueue, checker: this.#checker }
  }

  /** The public view of a session, and its ticket. @throws {RunError} `session_unknown` if the session does not exist. */
  async view(sessionId: string): Promise<{ view: Omit<View, 'internal'>; ticket: Ticket }> {
    const { view, ticket } = await this.#view(sessionId)
    const { internal, ...publicView } = view
    return { view: publicView, ticket }
  }

  /**
   * The state of a session, and why due work is not driven.
   * @throws {RunError} `session_unknown` if the session does not exist.
   */
  async status(sessionId: string): Promise<SessionStatus> {
    return sessionStatusOf(await this.#info(sessionId), this.#blockedAfterMs)
  }

  /**
   * Hands over all runs and releases all resources. Readers continue. Further requests and answers are rejected. The
   * store stays open.
   */
  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([this.#engine?.stop(), this.#retention?.stop()])
    await this.#notices.close()
    await this.#checker.close()
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

  /** Requests a new run. With a given message id, checks that it is new in the session. */
  async #requestNew<Output>(
    sessionId: string,
    spec: RunSpec,
    runId: string,
    options: RequestOptions,
    hasGivenId: boolean,
  ): Promise<Run<Output>> {
    for (;;) {
      let version: string | undefined
      if (hasGivenId && spec.message) {
        const info = await withLog(sessionId, () => this.manager.getInfo(sessionId))
        const { view } = info ? await this.#view(sessionId) : {}
        // A repeated request has the same message.
        if (view && requestFor(view, runId) === undefined) checkNewMessageId(view, spec.message.messageId)
        // An empty version means that the session is missing. If it is created in between, the check is repeated.
        version = info?.version ?? ''
      }
      const run = await this.#request<Output>(sessionId, spec, runId, options, version)
      if (run) return run
    }
  }

  /**
   * Requests a run that refers to an earlier one. `decide` builds the request from the session. If the session changed
   * meanwhile, it decides again (law 5). `isSameRequest` recognizes a repeated call with the same run id.
   */
  async #requestDerived(
    sessionId: string,
    options: RequestOptions,
    isSameRequest: (request: RunRequest) => boolean,
    decide: (session: ObservedSession) => DerivedRequest | Promise<DerivedRequest>,
  ): Promise<Run> {
    checkObject('options', options)
    const runId = options.runId ?? randomUUID()
    for (let latest: string | undefined, tries = 1; ; tries++) {
      const { version, floor } = await this.#info(sessionId)
      const { view, ticket } = await this.#view(sessionId)
      const earlierRequest = requestFor(view, runId)
      if (earlierRequest) {
        if (isSameRequest(earlierRequest)) return new Run(this, sessionId, runId, earlierRequest.at)
        throw requestRefusal('already-settled', runId)
      }
      const { earlierRun, spec } = await withLog(sessionId, async () => decide({ view, ticket, floor }))
      const now = view.runs.at(-1)?.runId
      // The caller has not seen the run that started meanwhile: the request might remove it, or continue from an older end.
      if (tries > 1 && now !== latest) throw overtakenError(runId, now)
      latest = now
      const context =
        options.context ??
        (await withLog(sessionId, () => runContextOf(this.manager, sessionId, view, earlierRun.runId)))
      const run = await this.#request(
        sessionId,
        spec,
        runId,
        { ...options, ...(context !== undefined && { context }) },
        version,
      )
      if (run) return run
    }
  }

  /** Requests a run. Returns undefined if the session changed since `ifVersion`. */
  async #request<Output>(
    sessionId: string,
    spec: RunSpec,
    runId: string,
    options: RequestOptions,
    ifVersion?: string,
  ): Promise<Run<Output> | undefined> {
    // A closed runtime would not drive it, and the caller would wait forever.
    this.#checkOpen(`run ${runId}`)
    const { guest = 'runtime', context, principal } = options
    const appendOptions = {
      ...(context !== undefined && { context }),
      ...(ifVersion !== undefined && { ifVersion }),
      ...(principal !== undefined && { principal }),
    }
    const request = requestOf(spec, runId, options)
    const appended = await withLog(sessionId, () => this.manager.append(sessionId, guest, request, appendOptions))
    if (appended.outcome === 'refused') {
      if (appended.reason === 'moved') return undefined
      throw requestRefusal(appended.reason, runId)
    }
    this.#telemetry.onRequest(runId)
    this.#engine?.wake(sessionId)
    return new Run<Output>(this, sessionId, runId, appended.first)
  }

  #checkOpen(method: string): void {
    if (this.#isClosed) throw new RunError('runtime_closed', `${method}: the runtime is closed: create another`)
  }
}

/**
 * Why a response does not fit an interrupt; undefined if it fits.
 * @throws {CheckLimitError} if the principal has used up its time for checks.
 */
export function interruptResponseProblem(
  runtime: Runtime,
  interrupt: Interrupt,
  response: Json,
  principal: string | undefined,
): Promise<string | undefined> {
  const caller = { kind: 'principal', principal } as const
  return responseProblem(interrupt, response, { checker: checkerOf(runtime), caller })
}

/** Codes of answers that came too late. They do not prevent the answers to other approvals. */
const TOO_LATE_CODES: readonly string[] = ['answer_already_settled', 'answer_late']

const isRewindFor =
  (reason: string) =>
  ({ cut }: RunRequest): boolean =>
    cut?.reason === reason

/**
 * Creates a runtime. It drives due runs from now on, unless `engine` is `false`.
 * @throws {ValidationError} if an option is invalid.
 */
export const createRuntime = (options: RuntimeOptions): Runtime => new Runtime(options)

/** A process that only drives runs. It stays alive until it is stopped. */
export interface Worker {
  /** The runtime that drives the runs. */
  readonly runtime: Runtime
  /** Hands over all runs. */
  stop(): Promise<void>
}

/**
 * Creates a runtime that drives the runs of a store and keeps the process alive.
 * @throws {ValidationError} if an option is invalid.
 */
export function createWorker(
  options: Omit<RuntimeOptions, 'engine'> & { readonly engine?: Engine | InProcessOptions },
): Worker {
  const engine = options.engine ?? {}
  const runtime = createRuntime({ ...options, engine: 'start' in engine ? engine : { keepsAlive: true, ...engine } })
  return { runtime, stop: () => runtime.close() }
}
