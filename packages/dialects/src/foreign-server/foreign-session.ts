import {
  type Chunk,
  type GuestOrigin,
  type Json,
  type JsonObject,
  type MessageChunk,
  messageIdOf,
  type Pending,
  type Subscriber,
  type Subscription,
} from '@millrace/protocol'
import type { ClientAnswer } from '../dialect/client-request.ts'
import type { DecodedChunk } from '../dialect/dialect.ts'
import { RequestError } from '../http/request-error.ts'
import { ForeignLog } from './foreign-log.ts'
import { ForeignRun } from './foreign-run.ts'
import type { ForeignServer } from './foreign-server.ts'
import { SessionIds } from './session-ids.ts'
import { TurnSnapshots } from './turn-snapshots.ts'

/** What a person says, as a chat sends it. */
interface MessageInput {
  readonly parts: MessageChunk['parts']
  readonly metadata?: JsonObject | undefined
}

/** The bodies of what a chat asks for, as our own server takes them. */
export interface RunBody {
  readonly runId: string
  readonly messageId: string
  readonly input: MessageInput
  readonly agent?: string | undefined
  readonly workflow?: string | undefined
  readonly whenBusy?: 'queue' | 'reject' | 'interrupt-previous' | undefined
  readonly data?: Json | undefined
}

export interface EditBody {
  readonly runId: string
  readonly messageId: string
  readonly newMessageId: string
  readonly input: MessageInput
  readonly data?: Json | undefined
}

export type AnswerBody =
  | ClientAnswer
  | { readonly kind: 'claim'; readonly id: string; readonly client?: string; readonly forMs?: number }

/** A run that was asked for. */
interface RequestedRun {
  readonly runId: string
  readonly program: string
  readonly message?: MessageChunk | undefined
  readonly data?: Json | undefined
  /** The turn in whose place it comes. */
  readonly cut?: Turn | undefined
  readonly kind: 'say' | 'regenerate'
}

/** A run that began, and what it began with. */
interface Turn extends RequestedRun {
  readonly run: ForeignRun
}

/** Whoever is at the page. */
const GUEST: GuestOrigin = { guest: 'user' }
const CONFLICT = 409
const NOT_FOUND = 404
/** How many messages wait for their turn, at most. */
const MOST_WAITING = 100
/** For how long a client takes a call upon itself, if it does not say, in milliseconds. */
const CLAIM_MS = 60_000

/** A session with a peer: takes what a chat asks for as our own server would, and has the peer do it. */
export class ForeignSession {
  readonly #sessionId: string
  readonly #peer: ForeignServer
  readonly #log = new ForeignLog()
  readonly #names = new SessionIds()
  readonly #past = new TurnSnapshots()
  #turns: Turn[] = []
  #queue: RequestedRun[] = []
  #open: ForeignRun | undefined
  /** What was said before is read once, when somebody looks. */
  #opening: Promise<void> | undefined
  #isRead = false

  constructor(sessionId: string, peer: ForeignServer) {
    this.#sessionId = sessionId
    this.#peer = peer
  }

  follow(follower: Subscriber, after: string | undefined): Subscription {
    return this.#log.follow(follower, after, () => this.#read())
  }

  wake(): void {
    this.#log.wake()
    this.#open?.wake()
  }

  /** Asks for a run: it begins, waits, or is refused, by what else there is. */
  async say(body: RunBody): Promise<void> {
    // Nothing is said before what was said before it.
    await this.#opening
    const { runId, messageId, input, agent, workflow, whenBusy = 'queue', data } = body
    if (this.#isKnown(runId)) return
    const isBusy = this.#open !== undefined || this.#queue.length > 0
    if (isBusy && whenBusy === 'reject')
      throw new RequestError({ code: 'run_busy', message: 'A run is open in this session.' }, CONFLICT)
    if (this.#queue.length === MOST_WAITING)
      throw new RequestError({ code: 'run_queue_full', message: `${MOST_WAITING} messages wait already.` }, CONFLICT)
    const program = workflow === undefined ? `agent:${agent ?? this.#peer.name}` : `workflow:${workflow}`
    // What was said before a session was looked at is not read any more.
    this.#isRead = true
    const asked: RequestedRun = { runId, program, message: messageOf(messageId, input), data, kind: 'say' }
    this.#request(asked, { whenBusy })
    this.#queue.push(asked)
    if (isBusy && whenBusy === 'interrupt-previous') this.#halt('interrupted').catch(() => {})
    this.#next()
  }

  /** Does a turn again, the last if none is named. */
  retry({ of, runId }: { readonly of?: string | undefined; readonly runId: string }): void {
    if (this.#isKnown(runId)) return
    const turn = this.#turns.findLast(one => one.runId === (of ?? one.runId))
    if (!turn) throw new RequestError({ code: 'run_unknown', message: 'There is no such turn to do again.' }, NOT_FOUND)
    if (turn !== this.#turns.at(-1)) this.#mustCut()
    const { program, message, data, run } = turn
    // Of a turn that the peer never heard of, nothing can be done again.
    this.#instead({ runId, program, message, data, cut: turn, kind: run.isHeard ? 'regenerate' : 'say' })
  }

  /** Puts another message in the place of one, and of all that came of it. */
  edit({ messageId, newMessageId, runId, input, data }: EditBody): void {
    if (this.#isKnown(runId)) return
    const turn = this.#turns.findLast(({ message }) => message?.messageId === messageId)
    if (!turn) {
      const message = `No turn has the message ${messageId}.`
      throw new RequestError({ code: 'message_unknown', message }, NOT_FOUND)
    }
    this.#mustCut()
    const { program } = turn
    // To the peer, it is the same message in other words.
    this.#names.messages.set(newMessageId, this.#names.messages.get(messageId) ?? messageId)
    this.#instead({ runId, program, message: messageOf(newMessageId, input), data, cut: turn, kind: 'say' })
  }

  #mustCut(): void {
    if (this.#peer.canCut !== false) return
    const message = 'This server takes back nothing but its last answer.'
    throw new RequestError({ code: 'not_supported', message }, CONFLICT)
  }

  #isKnown(runId: string): boolean {
    return [...this.#turns, ...this.#queue].some(one => one.runId === runId)
  }

  /** What cuts goes first, and what is open stops for it. */
  #instead(asked: RequestedRun): void {
    this.#request(asked, {})
    this.#queue.unshift(asked)
    this.#halt('interrupted').catch(() => {})
    this.#next()
  }

  #request({ runId, program, message, data }: RequestedRun, how: Pick<RunBody, 'whenBusy'>): void {
    const { type, ...input } = message ?? { type: '' }
    if (!this.#open) this.#log.trim()
    this.#guest({
      type: 'run-requested',
      runId,
      program,
      ...(message && { message: input as Omit<MessageChunk, 'type'> }),
      ...(data !== undefined && { data }),
      ...how,
    } as Chunk)
  }

  #guest(chunk: Chunk): void {
    this.#log.append([{ chunk, origin: GUEST }])
  }

  #next(): void {
    if (this.#open) return
    const asked = this.#queue.shift()
    if (!asked) return
    void this.#begin(asked).drive(asked.kind)
  }

  #begin(asked: RequestedRun, control?: AbortController): ForeignRun {
    const { runId, program, message, data, cut } = asked
    const log = this.#log
    const replaces = cut && this.#replaced(cut, asked.kind)
    if (cut) {
      this.#turns.length = this.#turns.indexOf(cut)
      log.cut(this.#past.back(this.#turns.length, log.view()))
    }
    this.#past.begin(log.view())
    const run = new ForeignRun({
      sessionId: this.#sessionId,
      runId,
      program,
      data,
      replaces,
      control,
      peer: this.#peer,
      log,
      names: this.#names,
      ended: () => {
        this.#open = undefined
        if (this.#queue.length > 0) log.trim()
        this.#next()
      },
    })
    this.#open = run
    this.#turns.push({ ...asked, cut: undefined, run })
    run.write({ type: 'run-started', program }, ...(message ? [message] : []))
    return run
  }

  /** What the peer calls what goes: the answer that is asked for anew, or the message that another takes the place of. */
  #replaced({ runId, message }: Turn, kind: RequestedRun['kind']): string | undefined {
    const id = kind === 'say' ? message?.messageId : messageIdOf(runId, runId)
    const foreign = id && this.#names.messages.get(id)
    return kind === 'say' ? (foreign ?? id) : foreign
  }

  /** Stops the open run, if it is that one; tells whether. */
  async stop({ runId, mode }: { readonly runId?: string; readonly mode?: 'interrupt' | 'abort' }): Promise<boolean> {
    const id = runId ?? this.#open?.runId ?? this.#queue[0]?.runId
    const waiting = this.#queue.findIndex(one => one.runId === id)
    if (waiting >= 0) {
      this.#queue.splice(waiting, 1)
      this.#guest({ type: 'stop-requested', runId: id as string })
      return true
    }
    if (!this.#open || this.#open.runId !== id) return false
    await this.#halt(mode === 'abort' ? 'aborted' : 'interrupted', mode)
    return true
  }

  /** Stops the open run, here at once, and there. */
  async #halt(status: 'aborted' | 'interrupted', mode?: 'interrupt' | 'abort'): Promise<void> {
    const run = this.#open
    if (!run) return
    const { runId } = run
    this.#guest({ type: 'stop-requested', runId, ...(mode && { mode }) })
    const reply = run.stop(status)
    await this.#peer.stop?.({ sessionId: this.#sessionId, runId, signal: AbortSignal.timeout(LATE_MS) }, reply)
  }

  /** Answers what the open run waits for. */
  answer(body: AnswerBody): void {
    const { kind, id } = body
    const wanted = kind === 'approval' || kind === 'interrupt' ? kind : 'client-tool'
    const pending = this.#log.pendings.find(one => one.kind === wanted && one.id === id)
    if (!pending || !this.#open) throw unknown(id)
    if (body.kind === 'claim') {
      this.#claim(pending, body)
      return
    }
    this.#guest(settling(body, pending))
    this.#open.answer(body)
  }

  #claim(pending: Pending, { id, client, forMs = CLAIM_MS }: Extract<AnswerBody, { kind: 'claim' }>): void {
    const { claim } = (pending as Extract<Pending, { kind: 'client-tool' }>).part
    if (claim && claim.by !== client && claim.until > Date.now()) {
      const message = 'Another has taken this call upon itself.'
      throw new RequestError({ code: 'answer_claimed', message, retryable: true }, CONFLICT)
    }
    const until = Date.now() + forMs
    this.#guest({ type: 'tool-claimed', toolCallId: id, until, ...(client !== undefined && { by: client }) })
  }

  /** What was said before, and what is under way: read once, when somebody looks at a session that nobody has spoken in here. */
  #read(): Promise<void> | undefined {
    if (this.#isRead || !(this.#peer.history || this.#peer.resume)) return undefined
    this.#opening ??= this.#restore().finally(() => {
      this.#opening = undefined
    })
    return this.#opening
  }

  async #restore(): Promise<void> {
    const signal = AbortSignal.timeout(LATE_MS)
    const history = await this.#peer.history?.({ sessionId: this.#sessionId, signal })
    if (this.#isRead) return
    for (const turn of turnsOf(history ?? [])) this.#remember(turn)
    this.#isRead = true
    await this.#join()
  }

  /** A turn that is over, as far as is known; a question in it is open until something else is said. */
  #remember({ message: said, answer }: PastTurn): void {
    this.#open?.finish('completed')
    const message = said && this.#named(said)
    const runId = `${message?.messageId ?? 'past'}~${this.#turns.length}`
    const asked: RequestedRun = { runId, program: `agent:${this.#peer.name}`, message, kind: 'say' }
    this.#request(asked, {})
    const run = this.#begin(asked)
    run.isHeard = true
    run.told(answer)
  }

  /** A person's message under a name that one may have here: what agents' messages have in theirs is in no other. */
  #named(said: MessageChunk): MessageChunk {
    const messageId = said.messageId.replaceAll('::', ':')
    if (messageId !== said.messageId) this.#names.messages.set(messageId, said.messageId)
    return { ...said, messageId }
  }

  /** Goes on with what is under way there. */
  async #join(): Promise<void> {
    const last = this.#turns.at(-1)
    const past = this.#open
    const control = new AbortController()
    const reply = await this.#peer
      .resume?.({
        sessionId: this.#sessionId,
        runId: last?.runId ?? '',
        kind: 'continue',
        messages: this.#names.told(this.#log.view().messages),
        answers: [],
        foreignIds: this.#names.messages,
        signal: control.signal,
      })
      .catch(() => undefined)
    if (!reply) {
      past?.settle('paused')
      return
    }
    const runId = `${last?.runId ?? 'past'}~`
    past?.finish('interrupted')
    const asked: RequestedRun = {
      runId,
      program: `agent:${this.#peer.name}`,
      message: last?.message,
      cut: last,
      kind: 'say',
    }
    this.#request(asked, {})
    void this.#begin(asked, control).drive('continue', reply)
  }
}

/** How long a peer may take to tell what was said, or to stop, in milliseconds. */
const LATE_MS = 20_000

const messageOf = (messageId: string, { parts, metadata }: MessageInput): MessageChunk => ({
  type: 'message',
  messageId,
  role: 'user',
  parts,
  ...(metadata && { metadata }),
})

const unknown = (id: string) =>
  new RequestError({ code: 'answer_unknown', message: `Nothing waits for an answer to ${id}.` }, NOT_FOUND)

/** The entry that settles what waits. */
function settling(answer: ClientAnswer, pending: Pending): Chunk {
  switch (answer.kind) {
    case 'approval': {
      const { id: approvalId, approved, reason } = answer
      const { toolCallId } = (pending as Extract<Pending, { kind: 'approval' }>).part
      const why = reason === undefined ? {} : { reason }
      return { type: 'tool-approval-response', toolCallId, approvalId, approved, ...why }
    }
    case 'interrupt':
      return { type: 'interrupt-response', interruptId: answer.id, response: answer.response }
    case 'tool-result':
      if ('error' in answer) return { type: 'tool-output-error', toolCallId: answer.id, errorText: answer.error }
      return { type: 'tool-output-available', toolCallId: answer.id, output: answer.output, executor: 'client' }
  }
}

interface PastTurn {
  readonly message?: MessageChunk | undefined
  readonly answer: readonly DecodedChunk[]
}

/** What was said before, turn by turn. */
function turnsOf(history: readonly DecodedChunk[]): PastTurn[] {
  const turns: (PastTurn & { readonly answer: DecodedChunk[] })[] = []
  for (const told of history) {
    const { chunk } = told
    if (chunk.type === 'message' && chunk.role === 'user') turns.push({ message: chunk, answer: [] })
    else {
      if (turns.length === 0) turns.push({ answer: [] })
      turns.at(-1)?.answer.push(told)
    }
  }
  return turns
}
