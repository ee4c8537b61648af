// What a client of another system asks for, decided on the log: it has the session as its client sees it, and the log wins. What is new is a turn, what is otherwise
// is an edit, what is the same is the same run. What is asked for has a name that is made of it alone, so that no request is done twice.

import type { ClientMessage, ClientRequest } from '@millrace/dialects'
import type { Ticket } from '@millrace/log'
import { type Json, messageIdOf, type RunRequest } from '@millrace/protocol'
import { type Answer, type RequestOptions, type Run, RunError, type StartOptions } from '@millrace/runtime'
import type { UploadInput } from '@millrace/runtime/internal'
import type { Action, Program } from '../../auth/authorize.ts'
import { Refusal, sessionUnknown } from '../../errors/refusal.ts'
import type { RouteCall } from '../../routing/route.ts'
import { omitUndefined } from '../../runs/omit-undefined.ts'
import { programKey, withoutVersion } from '../../runs/program.ts'
import { answererOf, guestOf, requesterOf } from '../../runs/requester.ts'
import { assertInputSize, assertSameRequest } from '../../runs/run-input.ts'
import { latestRunId } from '../../runs/target-run.ts'
import { assertUploaded } from '../../runs/uploads.ts'
import type { PublicView } from '../../sessions/message-page.ts'
import type { SessionIdentity } from '../../sessions/session-access.ts'
import { assertOwnOrAbsent, reauthorizeSession, requireSession, withSession } from '../../sessions/session-access.ts'
import { callerInSession } from './caller-in-session.ts'
import { filesIn, withUrls } from './inline-files.ts'
import { checkRunId, derivedId, messageIdFor } from './names.ts'
import {
  failureFor,
  isWaitingAfter,
  type MatchedAnswer,
  type MatchedAnswers,
  matchAnswers,
  positionAfterAnswers,
  transcriptRefused,
} from './posted-answers.ts'
import { contentOf, positionOf, type UserMessage, userMessagesIn } from './transcript.ts'

/** A request of a client, in a session. */
export interface TurnRequest {
  readonly sessionId: string
  readonly program: Program
  readonly posted: ClientRequest
  /** What the client calls the run, where it does: who asks again under it means the same. The header `Idempotency-Key`, if nothing is said. */
  readonly runId?: string | undefined
  /** For the server's code; untrusted there. */
  readonly data?: Json | undefined
}

/** What was asked for: a run, by whom, as what, and from where on it is news. */
export interface AcceptedTurn {
  readonly run: Run
  readonly caller: RouteCall['caller']
  readonly identity: SessionIdentity
  readonly action: Action
  readonly program?: Program
  readonly after?: { readonly sequence: number } | undefined
}

/** Does what a client asks for, once; where that is streamed, room for it was made before. */
export async function takeTurn(call: RouteCall, ask: TurnRequest): Promise<AcceptedTurn> {
  const caller = await callerInSession(call, ask.sessionId, ask.program)
  const { services } = call
  const { forbiddenContent } = ask.posted
  if (forbiddenContent !== undefined) throw transcriptRefused(forbiddenContent)
  const userMessages = ask.posted.userMessages.map(message => ({ ...message, id: messageIdFor(message.id) }))
  const named =
    checkRunId('run', ask.runId) ?? checkRunId('Idempotency-Key', call.request.headers.get('idempotency-key'))
  const turn = new Turn({ ...call, caller }, { ...ask, posted: { ...ask.posted, userMessages }, runId: named })
  const { action = call.action, ...decided } = await turn.decide()
  return {
    ...decided,
    action,
    program: ask.program,
    caller,
    identity: await requireSession(services, caller, ask.sessionId),
  }
}

/** What was done; as what the route is for, if nothing is said. */
interface TurnOutcome extends Pick<AcceptedTurn, 'run' | 'after'> {
  readonly action?: Action
}

class Turn {
  readonly #call: RouteCall
  readonly #ask: TurnRequest

  constructor(call: RouteCall, ask: TurnRequest) {
    this.#call = call
    this.#ask = ask
  }

  async decide(): Promise<TurnOutcome> {
    const { services, caller } = this.#call
    const { posted, sessionId } = this.#ask
    await assertOwnOrAbsent(services, caller, sessionId)
    if ((await services.manager.getInfo(sessionId)) === null) return this.#first()
    const { view, ticket } = await services.runtime.view(sessionId)
    const known = view.requests.find(({ runId }) => runId === this.#ask.runId)
    if (known) return this.#again(known)
    assertUserTurn(posted)
    const answers = matchAnswers(view, posted.answers)
    const message = posted.userMessages.at(-1)
    if (!message || !(posted.endsWithUserMessage || posted.regenerate)) return this.#continue(view, ticket, answers)
    const userMessages = userMessagesIn(view)
    const { at, is } = positionIn(userMessages, posted)
    const found = userMessages[at]
    if (found && is === 'same') {
      // Where nothing was userMessages yet but what is asked, an answer comes with the same last message; of a transcript that goes on after it, it is what is to be done anew.
      const isAnswered =
        posted.endsWithUserMessage &&
        (answers.open.length > 0 || answers.settled.some(answer => answer.runId === found.runId))
      return isAnswered
        ? this.#continue(view, ticket, answers)
        : this.#same(view, found, at === userMessages.length - 1)
    }
    const runId = this.#runIdFor(view, message, userMessages[at - 1])
    if (found) return this.#edit(view, found, message, runId)
    await this.#answer(answers.open)
    // Whoever speaks while something waits for them does not answer it, and what waits would keep their words waiting.
    return this.#start(message, runId, isWaitingAfter(view, answers) ? 'interrupt-previous' : 'queue')
  }

  /** Of a session that is not there yet, everything is new. */
  async #first(): Promise<TurnOutcome> {
    const { posted, sessionId } = this.#ask
    assertUserTurn(posted)
    const message = posted.userMessages.at(-1)
    if (!message || !(posted.endsWithUserMessage || posted.regenerate)) throw sessionUnknown(sessionId)
    if (posted.answers.length > 0)
      throw transcriptRefused('there is nothing to answer: the session is not there any more')
    return this.#start(message, this.#ask.runId ?? this.#derivedRunId(message), 'queue')
  }

  /** What was asked for under a name that the client gave, again. */
  #again({ runId, message, status, program }: RunRequest): TurnOutcome {
    const { services } = this.#call
    const { posted, sessionId } = this.#ask
    if (status === 'removed') throw runTakenBack(runId)
    const last = posted.endsWithUserMessage ? posted.userMessages.at(-1) : undefined
    const isSame = !last || contentOf(last.parts) === contentOf(message?.parts ?? [])
    if (!isSame || withoutVersion(program) !== programKey(this.#ask.program))
      throw new RunError('run_ended', `run ${runId}: it was asked for before, with something else: choose another name`)
    return { run: services.runtime.run(sessionId, runId) }
  }

  /** Says something new. */
  async #start(message: ClientMessage, runId: string, whenBusy: RequestOptions['whenBusy']): Promise<TurnOutcome> {
    const { services, caller } = this.#call
    const { sessionId, program, data } = this.#ask
    const { input, files } = this.#inputOf(message)
    const messageId = message.id ?? `${runId}.said`
    const run = await withSession(services, caller, sessionId, async () => {
      await this.#upload(files)
      await assertUploaded(services, sessionId, input)
      const requester = await requesterOf(this.#call, caller)
      const asked = { ...requester, ...program, session: sessionId, runId, messageId, input, whenBusy, data }
      return services.runtime.start(omitUndefined(asked) as unknown as StartOptions)
    })
    // Another may have been asked for under the client's name meanwhile.
    if (this.#ask.runId !== undefined)
      await assertSameRequest(services, run, {
        message: input,
        messageId,
        program: programKey(this.#ask.program),
        isLoose: true,
      })
    return { run }
  }

  /** Puts another message in the place of one. */
  async #edit(view: PublicView, known: UserMessage, message: ClientMessage, runId: string): Promise<TurnOutcome> {
    const { services, caller } = this.#call
    const { sessionId, data } = this.#ask
    await this.#authorize('edit')
    if (known.status === 'waiting' && known.runId !== undefined) {
      // What waits was not said yet: it is taken back, and what there is then is looked at again.
      await services.runtime.stop(sessionId, known.runId, {
        ...guestOf(caller),
        reason: 'another message came in its place',
      })
      return this.decide()
    }
    this.#mustBeOfProgram(view, known)
    const { input, files } = this.#inputOf(message)
    await this.#upload(files)
    await assertUploaded(services, sessionId, input)
    const options = {
      ...(await requesterOf(this.#call, caller)),
      runId,
      newMessageId: message.id ?? `${runId}.said`,
      data,
    }
    const run = await services.runtime.edit(sessionId, known.id, input, omitUndefined(options) as RequestOptions)
    return { run, action: 'edit' }
  }

  /** What was said before, again: it is the same run, unless it is to be answered anew. */
  async #same(view: PublicView, known: UserMessage, isLast: boolean): Promise<TurnOutcome> {
    const { services, caller } = this.#call
    const { sessionId } = this.#ask
    const { id, runId } = known
    if (runId === undefined) throw new RunError('run_unknown', `message ${id}: nothing answers it`)
    if (!this.#isRegeneration(view, known, isLast)) return { run: services.runtime.run(sessionId, runId) }
    await this.#authorize('retry')
    this.#mustBeOfProgram(view, known)
    const name = this.#ask.runId ?? this.#unusedRunId(view, ['retry', runId])
    const run = await services.runtime.retry(sessionId, runId, {
      ...(await requesterOf(this.#call, caller)),
      runId: name,
    })
    return { run, action: 'retry' }
  }

  /** Whether a turn is to be answered anew, once it is answered: who names the answer means that one alone, who has a new name for the run any, since who repeats it has the same name, and who names nothing the last. */
  #isRegeneration({ runs }: PublicView, { id, runId, status }: UserMessage, isLast: boolean): boolean {
    const { regenerate } = this.#ask.posted
    if (regenerate === undefined || regenerate === false) return false
    const isNamed = regenerate !== id && runs.some(run => messageIdOf(run.runId, run.runId) === regenerate)
    if (isNamed) return regenerate === messageIdOf(runId as string, runId as string)
    return status === 'over' && (isLast || this.#ask.runId !== undefined)
  }

  /** Goes on with the open run: by what was answered now, or was before. */
  async #continue(view: PublicView, ticket: Ticket, { open, settled }: MatchedAnswers): Promise<TurnOutcome> {
    const { services } = this.#call
    const { sessionId } = this.#ask
    const latest = latestRunId(ticket)
    const asked = open.length > 0 ? open : settled.filter(one => one.runId === latest)
    const runId = asked[0]?.runId
    if (runId === undefined)
      throw new Refusal('request_invalid', 'messages: expected something new: a message, or an answer to what waits')
    const answered = await this.#answer(open)
    const sequence = answered ?? (await positionAfterAnswers(services.manager, view, sessionId, runId, asked))
    return { run: services.runtime.run(sessionId, runId), after: { sequence }, action: 'answer' }
  }

  /** Answers what waits; tells where the first of it stands. */
  async #answer(open: readonly MatchedAnswer[]): Promise<number | undefined> {
    if (open.length === 0) return undefined
    const { services, caller } = this.#call
    await this.#authorize('answer')
    const who = answererOf(caller)
    const places: number[] = []
    const say = (answer: Answer) => services.runtime.answer(this.#ask.sessionId, answer, who)
    for (const { answer } of open) {
      const { sequence } = await say(answer).catch(error => {
        const failure = failureFor(answer, error)
        return failure === undefined ? Promise.reject(error) : say(failure)
      })
      places.push(sequence)
    }
    return Math.min(...places)
  }

  /** What a person says as it goes into the log, and the files that are within it; throws where it is larger than the server takes. */
  #inputOf({ parts, metadata }: ClientMessage) {
    const { services } = this.#call
    const files = filesIn(services, parts)
    const input = { parts: withUrls(parts), ...(metadata && { metadata }) }
    assertInputSize(services, input)
    return { input, files }
  }

  /** Keeps files with the session. */
  async #upload(files: readonly UploadInput[]): Promise<void> {
    if (files.length === 0) return
    await this.#authorize('upload')
    for (const file of files) await this.#call.services.runtime.upload(this.#ask.sessionId, file)
  }

  /** Throws where who asks may not do that in this session, though they may ask for it here. */
  async #authorize(action: Action): Promise<void> {
    const { services, request, caller } = this.#call
    const { sessionId, program } = this.#ask
    await reauthorizeSession(services, request, caller, action, sessionId, program)
  }

  /** Throws where a turn is another's who answers: it would be the other who answers it anew. */
  #mustBeOfProgram({ runs }: PublicView, { id, runId }: UserMessage): void {
    const { program = '' } = runs.find(run => run.runId === runId) ?? {}
    if (withoutVersion(program) === programKey(this.#ask.program)) return
    throw new Refusal(
      'transcript_diverged',
      `message ${id}: ${withoutVersion(program) || 'another'} answered it, not ${programKey(this.#ask.program)}, and would again: edit or regenerate it there, or say it here as a new message, under an id of its own`,
    )
  }

  /** What the run is called that answers a message: the same whenever the same is said in the same place. Throws where that was before, and is not any more. */
  #runIdFor(view: PublicView, message: ClientMessage, before: UserMessage | undefined): string {
    const { posted, runId } = this.#ask
    if (runId !== undefined) return runId
    const isAgain = message.id === undefined || Boolean(posted.regenerate)
    // Of one message without an id nothing tells whether it is another of the same words.
    const isAlone = posted.isIncremental || (message.id === undefined && posted.userMessages.length === 1)
    const name = isAgain ? this.#unusedRunId(view, identityOf(message, before), isAlone) : this.#derivedRunId(message)
    const known = view.requests.find(request => request.runId === name)
    if (known === undefined) return name
    if (known.status === 'removed') {
      if (isAgain) return name
      throw runTakenBack(name)
    }
    throw new Refusal(
      'transcript_diverged',
      'messages: the last was said before, and another stands in its place by now: read the session again, or send it under another id or an Idempotency-Key',
    )
  }

  /** A name for what is asked for, once more where it was taken back before it began; of a client without a transcript also where it was there before. */
  #unusedRunId(
    { requests }: PublicView,
    about: readonly string[],
    isAlone = this.#ask.posted.isIncremental === true,
  ): string {
    const over = new Set(requests.flatMap(({ runId, status }) => (isAlone || status === 'removed' ? [runId] : [])))
    for (let tries = 0; ; tries++) {
      const name = derivedId(this.#ask.sessionId, ...about, ...(tries > 0 ? [`${tries}`] : []))
      if (!over.has(name)) return name
    }
  }

  #derivedRunId(message: ClientMessage): string {
    return derivedId(this.#ask.sessionId, ...identityOf(message, undefined))
  }
}

/** What tells one message from another: its id, or what it follows, and what is in it. */
const identityOf = ({ id, parts }: ClientMessage, before: UserMessage | undefined): readonly string[] =>
  id === undefined ? ['after', before?.id ?? '', contentOf(parts)] : ['said', id, contentOf(parts)]

/** Throws where a transcript ends with nothing that is a client's to say: whatever an assistant says is in the log, or never was said. */
function assertUserTurn({ endsWithUserMessage, regenerate, answers }: ClientRequest): void {
  if (!endsWithUserMessage && !regenerate && answers.length === 0)
    throw transcriptRefused('expected what a person says last, or an answer to what waits')
}

const runTakenBack = (runId: string): RunError =>
  new RunError('run_taken_back', `run ${runId}: it was taken back before it began: say it anew`)

/** Where the last message of a client stands. */
function positionIn(userMessages: readonly UserMessage[], posted: ClientRequest) {
  const [message] = posted.userMessages
  if (!posted.isIncremental || message?.id !== undefined) return positionOf(userMessages, posted.userMessages)
  // Without a transcript or an id only what is still being answered can be the same.
  const last = userMessages.at(-1)
  const isSame = last !== undefined && last.status !== 'over' && last.content === contentOf(message?.parts ?? [])
  return isSame
    ? ({ at: userMessages.length - 1, is: 'same' } as const)
    : ({ at: userMessages.length, is: 'new' } as const)
}
