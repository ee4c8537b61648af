// Turns a request of a dialect client into a run. The log decides: a new message starts a turn, a changed one edits, the same one returns the same run.
// Run ids are derived from the request, so that a repeated request never runs twice.

import type { ClientMessage, ClientRequest } from '@millrace/dialects'
import type { Ticket } from '@millrace/log'
import { type Json, messageIdOf, type RunRequest } from '@millrace/protocol'
import { type Answer, type RequestOptions, type Run, RunError, type StartOptions } from '@millrace/runtime'
import type { UploadInput } from '@millrace/runtime/internal'
import type { Action, Program } from '../../auth/authorize.ts'
import { HttpError, sessionUnknown } from '../../errors/http-error.ts'
import type { RouteCall } from '../../routing/route.ts'
import { omitUndefined } from '../../runs/omit-undefined.ts'
import { programKey, withoutVersion } from '../../runs/program.ts'
import { answererOf, guestOf, requesterOf } from '../../runs/requester.ts'
import { assertInputSize, assertSameRequest } from '../../runs/run-input.ts'
import { latestRunId } from '../../runs/target-run.ts'
import { assertUploaded, storeUpload } from '../../runs/uploads.ts'
import type { PublicView } from '../../sessions/message-page.ts'
import type { SessionIdentity } from '../../sessions/session-access.ts'
import { findSession, reauthorizeSession, requireSession, withSession } from '../../sessions/session-access.ts'
import { callerInSession } from './caller-in-session.ts'
import {
  failureFor,
  isWaitingAfter,
  type MatchedAnswer,
  type MatchedAnswers,
  matchAnswers,
  positionAfterAnswers,
  transcriptRefused,
} from './client-answers.ts'
import { filesIn, withUrls } from './inline-files.ts'
import { checkRunId, derivedId, messageIdFor } from './names.ts'
import { contentOf, positionOf, type UserMessage, userMessagesIn } from './transcript.ts'

/** A request of a client in a session. */
export interface TurnRequest {
  readonly sessionId: string
  readonly program: Program
  readonly posted: ClientRequest
  /** The client's id of the run, as an idempotency key. @default the header `Idempotency-Key` */
  readonly runId?: string | undefined
  /** Data for the app's code. Untrusted. */
  readonly data?: Json | undefined
}

/** The run of an accepted request, its caller, the action that was performed, and the position up to which the client has seen it. */
export interface AcceptedTurn {
  readonly run: Run
  readonly caller: RouteCall['caller']
  readonly identity: SessionIdentity
  readonly action: Action
  readonly program?: Program
  readonly after?: { readonly sequence: number } | undefined
}

/** Performs a client's request exactly once. For streams, the caller has taken a stream slot before. */
export async function handleClientRequest(call: RouteCall, turnRequest: TurnRequest): Promise<AcceptedTurn> {
  const caller = await callerInSession(call, turnRequest.sessionId, turnRequest.program)
  const { services } = call
  const { forbiddenContent } = turnRequest.posted
  if (forbiddenContent !== undefined) throw transcriptRefused(forbiddenContent)
  const userMessages = turnRequest.posted.userMessages.map(message => ({ ...message, id: messageIdFor(message.id) }))
  const clientRunId =
    checkRunId('run', turnRequest.runId) ?? checkRunId('Idempotency-Key', call.request.headers.get('idempotency-key'))
  const turn = new Turn(
    { ...call, caller },
    { ...turnRequest, posted: { ...turnRequest.posted, userMessages }, runId: clientRunId },
  )
  const { action = call.action, ...decided } = await turn.decide()
  return {
    ...decided,
    action,
    program: turnRequest.program,
    caller,
    identity: await requireSession(services, caller, turnRequest.sessionId),
  }
}

/** The result of a turn. `action` is the route's action by default. */
interface TurnOutcome extends Pick<AcceptedTurn, 'run' | 'after'> {
  readonly action?: Action
}

class Turn {
  readonly #call: RouteCall
  readonly #turnRequest: TurnRequest
  /** Id of the session's log, once the session was found or created. */
  #streamId = ''

  constructor(call: RouteCall, turnRequest: TurnRequest) {
    this.#call = call
    this.#turnRequest = turnRequest
  }

  async decide(): Promise<TurnOutcome> {
    const { services, caller } = this.#call
    const { posted, sessionId } = this.#turnRequest
    const session = await findSession(services, caller, sessionId)
    if (session === null) return this.#startSession()
    const { streamId } = session
    this.#streamId = streamId
    const { view, ticket } = await services.runtime.view(streamId)
    const repeated = view.requests.find(({ runId }) => runId === this.#turnRequest.runId)
    if (repeated) return this.#repeatRequest(repeated)
    assertUserTurn(posted)
    const { runtime } = services
    const answers = await matchAnswers(view, posted.answers, { runtime, principal: caller.principal })
    const message = posted.userMessages.at(-1)
    if (!message || !(posted.endsWithUserMessage || posted.regenerate)) return this.#continue(view, ticket, answers)
    const userMessages = userMessagesIn(view)
    const { at, kind } = positionIn(userMessages, posted)
    const found = userMessages[at]
    if (found && kind === 'same') {
      // A transcript that ends with the user message may carry an answer to the run of that message. One that continues after it asks for a regeneration.
      const isAnswered =
        posted.endsWithUserMessage &&
        (answers.open.length > 0 || answers.settled.some(answer => answer.runId === found.runId))
      return isAnswered
        ? this.#continue(view, ticket, answers)
        : this.#repeatMessage(view, found, at === userMessages.length - 1)
    }
    const runId = this.#runIdFor(view, message, userMessages[at - 1])
    if (found) return this.#edit(session, view, found, message, runId)
    await this.#answer(answers.open)
    // A new message does not answer pendings. Since they would block it, it interrupts their run.
    return this.#start(message, runId, isWaitingAfter(view, answers) ? 'interrupt-previous' : 'queue')
  }

  /** Starts a session that does not exist yet with its first message. */
  async #startSession(): Promise<TurnOutcome> {
    const { posted, sessionId } = this.#turnRequest
    assertUserTurn(posted)
    const message = posted.userMessages.at(-1)
    if (!message || !(posted.endsWithUserMessage || posted.regenerate)) throw sessionUnknown(sessionId)
    if (posted.answers.length > 0)
      throw transcriptRefused('expected no answers, the session does not exist: send a message to start it')
    return this.#start(message, this.#turnRequest.runId ?? this.#derivedRunId(message), 'queue')
  }

  /** Returns the run of a repeated request with a client's run id. */
  #repeatRequest({ runId, message, status, program }: RunRequest): TurnOutcome {
    const { services } = this.#call
    const { posted } = this.#turnRequest
    if (status === 'removed') throw runTakenBack(runId)
    const last = posted.endsWithUserMessage ? posted.userMessages.at(-1) : undefined
    const isSame = !last || contentOf(last.parts) === contentOf(message?.parts ?? [])
    if (!isSame || withoutVersion(program) !== programKey(this.#turnRequest.program))
      throw new RunError('run_ended', `run ${runId}: this id was used for another request: choose another id`)
    return { run: services.runtime.run(this.#streamId, runId) }
  }

  /** Starts a run with a new message. */
  async #start(message: ClientMessage, runId: string, whenBusy: RequestOptions['whenBusy']): Promise<TurnOutcome> {
    const { services, caller } = this.#call
    const { sessionId, program, data } = this.#turnRequest
    const { input, files } = this.#inputOf(message)
    const messageId = message.id ?? `${runId}.said`
    const run = await withSession(services, caller, sessionId, async session => {
      this.#streamId = session.streamId
      await this.#upload(files)
      await assertUploaded(services, session, input)
      const requester = await requesterOf(this.#call, caller)
      const options = { ...requester, ...program, session: session.streamId, runId, messageId, input, whenBusy, data }
      return services.runtime.start(omitUndefined(options) as unknown as StartOptions)
    })
    // Another request may have used the client's run id meanwhile.
    if (this.#turnRequest.runId !== undefined)
      await assertSameRequest(services, run, {
        message: input,
        messageId,
        program: programKey(this.#turnRequest.program),
        isLoose: true,
      })
    return { run }
  }

  /** Replaces a message. */
  async #edit(
    session: SessionIdentity,
    view: PublicView,
    replaced: UserMessage,
    message: ClientMessage,
    runId: string,
  ): Promise<TurnOutcome> {
    const { services, caller } = this.#call
    const { data } = this.#turnRequest
    const { streamId } = session
    await this.#authorize('edit')
    if (replaced.status === 'queued' && replaced.runId !== undefined) {
      // A queued message is removed from the queue, then the request is decided again.
      await services.runtime.stop(streamId, replaced.runId, {
        ...guestOf(caller),
        reason: 'another message came in its place',
      })
      return this.decide()
    }
    this.#assertSameProgram(view, replaced)
    const { input, files } = this.#inputOf(message)
    await this.#upload(files)
    await assertUploaded(services, session, input)
    const options = {
      ...(await requesterOf(this.#call, caller)),
      runId,
      newMessageId: message.id ?? `${runId}.said`,
      data,
    }
    const run = await services.runtime.edit(streamId, replaced.id, input, omitUndefined(options) as RequestOptions)
    return { run, action: 'edit' }
  }

  /** Handles a repeated message: returns its run, or regenerates the answer. */
  async #repeatMessage(view: PublicView, repeated: UserMessage, isLast: boolean): Promise<TurnOutcome> {
    const { services, caller } = this.#call
    const { id, runId } = repeated
    if (runId === undefined)
      throw new RunError('run_unknown', `message ${id}: expected a message with a run: send it again under a new id`)
    if (!this.#isRegeneration(view, repeated, isLast)) return { run: services.runtime.run(this.#streamId, runId) }
    await this.#authorize('retry')
    this.#assertSameProgram(view, repeated)
    const retryId = this.#turnRequest.runId ?? this.#unusedRunId(view, ['retry', runId])
    const run = await services.runtime.retry(this.#streamId, runId, {
      ...(await requesterOf(this.#call, caller)),
      runId: retryId,
    })
    return { run, action: 'retry' }
  }

  /**
   * Whether to regenerate the answer to a message. A client that names the answer means only that one.
   * A client with a new run id means any ended one, since a repeated request has the same id. Otherwise only the last one.
   */
  #isRegeneration({ runs }: PublicView, { id, runId, status }: UserMessage, isLast: boolean): boolean {
    const { regenerate } = this.#turnRequest.posted
    if (regenerate === undefined || regenerate === false) return false
    const isNamed = regenerate !== id && runs.some(run => messageIdOf(run.runId, run.runId) === regenerate)
    if (isNamed) return regenerate === messageIdOf(runId as string, runId as string)
    return status === 'ended' && (isLast || this.#turnRequest.runId !== undefined)
  }

  /** Continues the open run after its answers, whether they are given now or were before. */
  async #continue(view: PublicView, ticket: Ticket, { open, settled }: MatchedAnswers): Promise<TurnOutcome> {
    const { services } = this.#call
    const latest = latestRunId(ticket)
    const relevant = open.length > 0 ? open : settled.filter(settledPending => settledPending.runId === latest)
    const runId = relevant[0]?.runId
    if (runId === undefined)
      throw new HttpError('request_invalid', 'messages: expected a new user message, or an answer to a pending request')
    const answered = await this.#answer(open)
    const sequence = answered ?? (await positionAfterAnswers(services.manager, view, this.#streamId, runId, relevant))
    return { run: services.runtime.run(this.#streamId, runId), after: { sequence }, action: 'answer' }
  }

  /** Submits the answers and returns the sequence of the first. */
  async #answer(open: readonly MatchedAnswer[]): Promise<number | undefined> {
    if (open.length === 0) return undefined
    const { services, caller } = this.#call
    await this.#authorize('answer')
    const answerer = answererOf(caller)
    const sequences: number[] = []
    const submit = (answer: Answer) => services.runtime.answer(this.#streamId, answer, answerer)
    for (const { answer } of open) {
      const { sequence } = await submit(answer).catch(error => {
        const failure = failureFor(answer, error)
        return failure === undefined ? Promise.reject(error) : submit(failure)
      })
      sequences.push(sequence)
    }
    return Math.min(...sequences)
  }

  /** The message as the log stores it, and the files inside it. @throws `input_too_large` */
  #inputOf({ parts, metadata }: ClientMessage) {
    const { services } = this.#call
    const files = filesIn(services, parts)
    const input = { parts: withUrls(parts), ...(metadata && { metadata }) }
    assertInputSize(services, input)
    return { input, files }
  }

  /** Stores files in the session. @throws `uploads_limit` */
  async #upload(files: readonly UploadInput[]): Promise<void> {
    if (files.length === 0) return
    await this.#authorize('upload')
    const { services, caller } = this.#call
    for (const file of files) await storeUpload(services, caller.owner, { streamId: this.#streamId }, file)
  }

  /** Authorizes a further action in this session. @throws if the caller may not perform it */
  async #authorize(action: Action): Promise<void> {
    const { services, request, caller } = this.#call
    const { sessionId, program } = this.#turnRequest
    await reauthorizeSession(services, request, caller, action, sessionId, program)
  }

  /** A turn can only be repeated by the program that answered it. @throws `transcript_diverged` */
  #assertSameProgram({ runs }: PublicView, { id, runId }: UserMessage): void {
    const { program = '' } = runs.find(run => run.runId === runId) ?? {}
    if (withoutVersion(program) === programKey(this.#turnRequest.program)) return
    throw new HttpError(
      'transcript_diverged',
      `message ${id}: expected a message that ${programKey(this.#turnRequest.program)} answered, found ${withoutVersion(program) || 'another program'}: edit or regenerate it there, or send it here as a new message with a new id`,
    )
  }

  /** The id of the run that answers a message: the same for the same message at the same position. @throws if that run was removed or replaced */
  #runIdFor(view: PublicView, message: ClientMessage, before: UserMessage | undefined): string {
    const { posted, runId } = this.#turnRequest
    if (runId !== undefined) return runId
    const mayRepeat = message.id === undefined || Boolean(posted.regenerate)
    // A single message without an id may be a new one with the same text.
    const isSingle = posted.isIncremental || (message.id === undefined && posted.userMessages.length === 1)
    const name = mayRepeat
      ? this.#unusedRunId(view, identityOf(message, before), isSingle)
      : this.#derivedRunId(message)
    const request = view.requests.find(({ runId }) => runId === name)
    if (request === undefined) return name
    if (request.status === 'removed') {
      if (mayRepeat) return name
      throw runTakenBack(name)
    }
    throw new HttpError(
      'transcript_diverged',
      'messages: the last message was replaced by another one meanwhile: read the session again, or send it with a new id or Idempotency-Key',
    )
  }

  /** A derived run id. Skips ids of removed requests and, for clients without a transcript, all ids in use. */
  #unusedRunId(
    { requests }: PublicView,
    values: readonly string[],
    skipsUsedIds = this.#turnRequest.posted.isIncremental === true,
  ): string {
    const skipped = new Set(
      requests.flatMap(({ runId, status }) => (skipsUsedIds || status === 'removed' ? [runId] : [])),
    )
    for (let tries = 0; ; tries++) {
      const name = derivedId(this.#turnRequest.sessionId, ...values, ...(tries > 0 ? [`${tries}`] : []))
      if (!skipped.has(name)) return name
    }
  }

  #derivedRunId(message: ClientMessage): string {
    return derivedId(this.#turnRequest.sessionId, ...identityOf(message, undefined))
  }
}

/** The values that identify a message: its id and content. Without an id: the previous message and its content. */
const identityOf = ({ id, parts }: ClientMessage, before: UserMessage | undefined): readonly string[] =>
  id === undefined ? ['after', before?.id ?? '', contentOf(parts)] : ['said', id, contentOf(parts)]

/** @throws `transcript_refused` if a transcript ends with neither a user message nor an answer: assistant messages come only from the log */
function assertUserTurn({ endsWithUserMessage, regenerate, answers }: ClientRequest): void {
  if (!endsWithUserMessage && !regenerate && answers.length === 0)
    throw transcriptRefused('expected a user message at the end, or an answer to a pending request')
}

const runTakenBack = (runId: string): RunError =>
  new RunError('run_taken_back', `run ${runId}: the request was removed before it started: send it again`)

/** The position of a client's last message. */
function positionIn(userMessages: readonly UserMessage[], posted: ClientRequest) {
  const [message] = posted.userMessages
  if (!posted.isIncremental || message?.id !== undefined) return positionOf(userMessages, posted.userMessages)
  // Without a transcript and an id, only a message that is still being answered can be a repetition.
  const last = userMessages.at(-1)
  const isSame = last !== undefined && last.status !== 'ended' && last.content === contentOf(message?.parts ?? [])
  return isSame
    ? ({ at: userMessages.length - 1, kind: 'same' } as const)
    : ({ at: userMessages.length, kind: 'new' } as const)
}
