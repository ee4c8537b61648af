// What a client of another system asks for, decided on the log: it has the session as its client sees it, and the log wins. What is new is a turn, what is otherwise
// is an edit, what is the same is the same run. What is asked for has a name that is made of it alone, so that no request is done twice.

import type { Posted, PostedMessage } from '@millrace/dialects'
import type { Ticket } from '@millrace/log'
import { type Json, messageIdOf, type RunRequest } from '@millrace/protocol'
import { type Answer, type AskOptions, type NewUpload, type Run, RunError, type StartOptions } from '@millrace/runtime'
import type { Action, Program } from '../../auth/authorize.ts'
import { Refusal, sessionUnknown } from '../../errors/refusal.ts'
import type { Call } from '../../routing/route.ts'
import { programKey, withoutVersion } from '../../runs/program.ts'
import { answererOf, guestOf, requesterOf } from '../../runs/requester.ts'
import { mustBeTheSame, mustFit } from '../../runs/run-input.ts'
import { latestRunId } from '../../runs/target-run.ts'
import { mustBeKept } from '../../runs/uploads.ts'
import type { Entered } from '../../sessions/session-access.ts'
import { enter, enterOrMake, mayEnterOrMake, mayStill } from '../../sessions/session-access.ts'
import { omitUndefined } from '../../util/omit-undefined.ts'
import { newsAfter } from './answer-position.ts'
import { entrance } from './caller-in-session.ts'
import { filesIn, withUrls } from './inline-files.ts'
import { derivedName, messageNameOf, runNameOf } from './names.ts'
import { type Claim, type Claims, claimsIn, failureFor, isWaitingAfter, notTheirs } from './posted-answers.ts'
import { contentOf, placeOf, type Said, type Shown, saidIn } from './transcript.ts'

/** A request of a client, in a session. */
export interface Ask {
  readonly sessionId: string
  readonly program: Program
  readonly posted: Posted
  /** What the client calls the run, where it does: who asks again under it means the same. The header `Idempotency-Key`, if nothing is said. */
  readonly runId?: string | undefined
  /** For the server's code; untrusted there. */
  readonly data?: Json | undefined
}

/** What was asked for: a run, by whom, as what, and from where on it is news. */
export interface Taken {
  readonly run: Run
  readonly caller: Call['caller']
  readonly entered: Entered
  readonly action: Action
  readonly program?: Program
  readonly after?: { readonly sequence: number } | undefined
}

/** Does what a client asks for, once; where that is streamed, room for it was made before. */
export async function take(call: Call, ask: Ask): Promise<Taken> {
  const caller = await entrance(call, ask.sessionId, ask.program)
  const { services } = call
  const { foreign } = ask.posted
  if (foreign !== undefined) throw notTheirs(foreign)
  const said = ask.posted.said.map(message => ({ ...message, id: messageNameOf(message.id) }))
  const named = runNameOf('run', ask.runId) ?? runNameOf('Idempotency-Key', call.request.headers.get('idempotency-key'))
  const turn = new Turn({ ...call, caller }, { ...ask, posted: { ...ask.posted, said }, runId: named })
  const { action = call.action, ...decided } = await turn.decide()
  return { ...decided, action, program: ask.program, caller, entered: await enter(services, caller, ask.sessionId) }
}

/** What was done; as what the route is for, if nothing is said. */
interface Decided extends Pick<Taken, 'run' | 'after'> {
  readonly action?: Action
}

class Turn {
  readonly #call: Call
  readonly #ask: Ask

  constructor(call: Call, ask: Ask) {
    this.#call = call
    this.#ask = ask
  }

  async decide(): Promise<Decided> {
    const { services, caller } = this.#call
    const { posted, sessionId } = this.#ask
    await mayEnterOrMake(services, caller, sessionId)
    if ((await services.manager.getInfo(sessionId)) === null) return this.#first()
    const { view, ticket } = await services.runtime.view(sessionId)
    const known = view.requests.find(({ runId }) => runId === this.#ask.runId)
    if (known) return this.#again(known)
    mustBeAPersons(posted)
    const claims = claimsIn(view, posted.answers)
    const message = posted.said.at(-1)
    if (!message || !(posted.isSaidLast || posted.regenerate)) return this.#goOn(view, ticket, claims)
    const said = saidIn(view)
    const { at, is } = placeIn(said, posted)
    const found = said[at]
    if (found && is === 'same') {
      // Where nothing was said yet but what is asked, an answer comes with the same last message; of a transcript that goes on after it, it is what is to be done anew.
      const isAnswered =
        posted.isSaidLast && (claims.open.length > 0 || claims.settled.some(claim => claim.runId === found.runId))
      return isAnswered ? this.#goOn(view, ticket, claims) : this.#same(view, found, at === said.length - 1)
    }
    const runId = this.#nameFor(view, message, said[at - 1])
    if (found) return this.#edit(view, found, message, runId)
    await this.#answer(claims.open)
    // Whoever speaks while something waits for them does not answer it, and what waits would keep their words waiting.
    return this.#say(message, runId, isWaitingAfter(view, claims) ? 'interrupt-previous' : 'queue')
  }

  /** Of a session that is not there yet, everything is new. */
  async #first(): Promise<Decided> {
    const { posted, sessionId } = this.#ask
    mustBeAPersons(posted)
    const message = posted.said.at(-1)
    if (!message || !(posted.isSaidLast || posted.regenerate)) throw sessionUnknown(sessionId)
    if (posted.answers.length > 0) throw notTheirs('there is nothing to answer: the session is not there any more')
    return this.#say(message, this.#ask.runId ?? this.#derived(message), 'queue')
  }

  /** What was asked for under a name that the client gave, again. */
  #again({ runId, message, status, program }: RunRequest): Decided {
    const { services } = this.#call
    const { posted, sessionId } = this.#ask
    if (status === 'removed') throw takenBack(runId)
    const said = posted.isSaidLast ? posted.said.at(-1) : undefined
    const isSame = !said || contentOf(said.parts) === contentOf(message?.parts ?? [])
    if (!isSame || withoutVersion(program) !== programKey(this.#ask.program))
      throw new RunError('run_ended', `run ${runId}: it was asked for before, with something else: choose another name`)
    return { run: services.runtime.run(sessionId, runId) }
  }

  /** Says something new. */
  async #say(message: PostedMessage, runId: string, whenBusy: AskOptions['whenBusy']): Promise<Decided> {
    const { services, caller } = this.#call
    const { sessionId, program, data } = this.#ask
    const { input, files } = this.#inputOf(message)
    const messageId = message.id ?? `${runId}.said`
    const run = await enterOrMake(services, caller, sessionId, async () => {
      await this.#keep(files)
      await mustBeKept(services, sessionId, input)
      const requester = await requesterOf(this.#call, caller)
      const asked = { ...requester, ...program, session: sessionId, runId, messageId, input, whenBusy, data }
      return services.runtime.start(omitUndefined(asked) as unknown as StartOptions)
    })
    // Another may have been asked for under the client's name meanwhile.
    if (this.#ask.runId !== undefined)
      await mustBeTheSame(services, run, {
        message: input,
        messageId,
        program: programKey(this.#ask.program),
        isLoose: true,
      })
    return { run }
  }

  /** Puts another message in the place of one. */
  async #edit(view: Shown, known: Said, message: PostedMessage, runId: string): Promise<Decided> {
    const { services, caller } = this.#call
    const { sessionId, data } = this.#ask
    await this.#may('edit')
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
    await this.#keep(files)
    await mustBeKept(services, sessionId, input)
    const options = {
      ...(await requesterOf(this.#call, caller)),
      runId,
      newMessageId: message.id ?? `${runId}.said`,
      data,
    }
    const run = await services.runtime.edit(sessionId, known.id, input, omitUndefined(options) as AskOptions)
    return { run, action: 'edit' }
  }

  /** What was said before, again: it is the same run, unless it is to be answered anew. */
  async #same(view: Shown, known: Said, isLast: boolean): Promise<Decided> {
    const { services, caller } = this.#call
    const { sessionId } = this.#ask
    const { id, runId } = known
    if (runId === undefined) throw new RunError('run_unknown', `message ${id}: nothing answers it`)
    if (!this.#isAnew(view, known, isLast)) return { run: services.runtime.run(sessionId, runId) }
    await this.#may('retry')
    this.#mustBeOfProgram(view, known)
    const name = this.#ask.runId ?? this.#free(view, ['retry', runId])
    const run = await services.runtime.retry(sessionId, runId, {
      ...(await requesterOf(this.#call, caller)),
      runId: name,
    })
    return { run, action: 'retry' }
  }

  /** Whether a turn is to be answered anew, once it is answered: who names the answer means that one alone, who has a new name for the run any, since who repeats it has the same name, and who names nothing the last. */
  #isAnew({ runs }: Shown, { id, runId, status }: Said, isLast: boolean): boolean {
    const { regenerate } = this.#ask.posted
    if (regenerate === undefined || regenerate === false) return false
    const isNamed = regenerate !== id && runs.some(run => messageIdOf(run.runId, run.runId) === regenerate)
    if (isNamed) return regenerate === messageIdOf(runId as string, runId as string)
    return status === 'over' && (isLast || this.#ask.runId !== undefined)
  }

  /** Goes on with the open run: by what was answered now, or was before. */
  async #goOn(view: Shown, ticket: Ticket, { open, settled }: Claims): Promise<Decided> {
    const { services } = this.#call
    const { sessionId } = this.#ask
    const latest = latestRunId(ticket)
    const asked = open.length > 0 ? open : settled.filter(one => one.runId === latest)
    const runId = asked[0]?.runId
    if (runId === undefined)
      throw new Refusal('request_invalid', 'messages: expected something new: a message, or an answer to what waits')
    const answered = await this.#answer(open)
    const sequence = answered ?? (await newsAfter(services.manager, view, sessionId, runId, asked))
    return { run: services.runtime.run(sessionId, runId), after: { sequence }, action: 'answer' }
  }

  /** Answers what waits; tells where the first of it stands. */
  async #answer(open: readonly Claim[]): Promise<number | undefined> {
    if (open.length === 0) return undefined
    const { services, caller } = this.#call
    await this.#may('answer')
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
  #inputOf({ parts, metadata }: PostedMessage) {
    const { services } = this.#call
    const files = filesIn(services, parts)
    const input = { parts: withUrls(parts), ...(metadata && { metadata }) }
    mustFit(services, input)
    return { input, files }
  }

  /** Keeps files with the session. */
  async #keep(files: readonly NewUpload[]): Promise<void> {
    if (files.length === 0) return
    await this.#may('upload')
    for (const file of files) await this.#call.services.runtime.upload(this.#ask.sessionId, file)
  }

  /** Throws where who asks may not do that in this session, though they may ask for it here. */
  async #may(action: Action): Promise<void> {
    const { services, request, caller } = this.#call
    const { sessionId, program } = this.#ask
    await mayStill(services, request, caller, action, sessionId, program)
  }

  /** Throws where a turn is another's who answers: it would be the other who answers it anew. */
  #mustBeOfProgram({ runs }: Shown, { id, runId }: Said): void {
    const { program = '' } = runs.find(run => run.runId === runId) ?? {}
    if (withoutVersion(program) === programKey(this.#ask.program)) return
    throw new Refusal(
      'transcript_diverged',
      `message ${id}: ${withoutVersion(program) || 'another'} answered it, not ${programKey(this.#ask.program)}, and would again: edit or regenerate it there, or say it here as a new message, under an id of its own`,
    )
  }

  /** What the run is called that answers a message: the same whenever the same is said in the same place. Throws where that was before, and is not any more. */
  #nameFor(view: Shown, message: PostedMessage, before: Said | undefined): string {
    const { posted, runId } = this.#ask
    if (runId !== undefined) return runId
    const isAgain = message.id === undefined || Boolean(posted.regenerate)
    // Of one message without an id nothing tells whether it is another of the same words.
    const isAlone = posted.isAlone || (message.id === undefined && posted.said.length === 1)
    const name = isAgain ? this.#free(view, aboutOf(message, before), isAlone) : this.#derived(message)
    const known = view.requests.find(request => request.runId === name)
    if (known === undefined) return name
    if (known.status === 'removed') {
      if (isAgain) return name
      throw takenBack(name)
    }
    throw new Refusal(
      'transcript_diverged',
      'messages: the last was said before, and another stands in its place by now: read the session again, or send it under another id or an Idempotency-Key',
    )
  }

  /** A name for what is asked for, once more where it was taken back before it began; of a client without a transcript also where it was there before. */
  #free({ requests }: Shown, about: readonly string[], isAlone = this.#ask.posted.isAlone === true): string {
    const over = new Set(requests.flatMap(({ runId, status }) => (isAlone || status === 'removed' ? [runId] : [])))
    for (let tries = 0; ; tries++) {
      const name = derivedName(this.#ask.sessionId, ...about, ...(tries > 0 ? [`${tries}`] : []))
      if (!over.has(name)) return name
    }
  }

  #derived(message: PostedMessage): string {
    return derivedName(this.#ask.sessionId, ...aboutOf(message, undefined))
  }
}

/** What tells one message from another: its id, or what it follows, and what is in it. */
const aboutOf = ({ id, parts }: PostedMessage, before: Said | undefined): readonly string[] =>
  id === undefined ? ['after', before?.id ?? '', contentOf(parts)] : ['said', id, contentOf(parts)]

/** Throws where a transcript ends with nothing that is a client's to say: whatever an assistant says is in the log, or never was said. */
function mustBeAPersons({ isSaidLast, regenerate, answers }: Posted): void {
  if (!isSaidLast && !regenerate && answers.length === 0)
    throw notTheirs('expected what a person says last, or an answer to what waits')
}

const takenBack = (runId: string): RunError =>
  new RunError('run_taken_back', `run ${runId}: it was taken back before it began: say it anew`)

/** Where the last message of a client stands. */
function placeIn(said: readonly Said[], posted: Posted) {
  const [message] = posted.said
  if (!posted.isAlone || message?.id !== undefined) return placeOf(said, posted.said)
  // Without a transcript or an id only what is still being answered can be the same.
  const last = said.at(-1)
  const isSame = last !== undefined && last.status !== 'over' && last.content === contentOf(message?.parts ?? [])
  return isSame ? ({ at: said.length - 1, is: 'same' } as const) : ({ at: said.length, is: 'new' } as const)
}
