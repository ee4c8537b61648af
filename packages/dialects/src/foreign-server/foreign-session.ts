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

/** The content of a user message in a request. */
interface MessageInput {
  readonly parts: MessageChunk['parts']
  readonly metadata?: JsonObject | undefined
}

/** Body of `POST /sessions/:id/runs`, as a Millrace server takes it. */
export interface RunBody {
  readonly runId: string
  readonly messageId: string
  readonly input: MessageInput
  readonly agent?: string | undefined
  readonly workflow?: string | undefined
  readonly whenBusy?: 'queue' | 'reject' | 'interrupt-previous' | undefined
  readonly data?: Json | undefined
}

/** Body of `POST /sessions/:id/edit`. */
export interface EditBody {
  readonly runId: string
  readonly messageId: string
  readonly newMessageId: string
  readonly input: MessageInput
  readonly data?: Json | undefined
}

/** Body of `POST /sessions/:id/answers`. */
export type AnswerBody =
  | ClientAnswer
  | { readonly kind: 'claim'; readonly id: string; readonly client?: string; readonly forMs?: number }

/** A run that was requested and has not begun. */
interface RequestedRun {
  readonly runId: string
  readonly program: string
  readonly message?: MessageChunk | undefined
  readonly data?: Json | undefined
  /** The turn that it replaces, together with all later ones. */
  readonly replaces?: Turn | undefined
  readonly kind: 'say' | 'regenerate'
}

/** A run that has begun, with its request. */
interface Turn extends RequestedRun {
  readonly run: ForeignRun
}

/** The user of the page. */
const GUEST: GuestOrigin = { guest: 'user' }
const CONFLICT = 409
const NOT_FOUND = 404
/** Bound of the queue of messages. */
const MAX_QUEUED = 100
/** Default duration of a client's claim on a call, in ms. */
const CLAIM_MS = 60_000
/** Time limit for a stop and for reading the history, in ms. */
const TIMEOUT_MS = 20_000

/** A session with a foreign server: takes a chat's requests as a Millrace server does, and has the foreign server run them. */
export class ForeignSession {
  readonly #sessionId: string
  readonly #server: ForeignServer
  readonly #log = new ForeignLog()
  readonly #ids = new SessionIds()
  readonly #snapshots = new TurnSnapshots()
  #turns: Turn[] = []
  #queue: RequestedRun[] = []
  #open: ForeignRun | undefined
  /** The history is read once, for the first follower. */
  #opening: Promise<void> | undefined
  #isRead = false

  constructor(sessionId: string, server: ForeignServer) {
    this.#sessionId = sessionId
    this.#server = server
  }

  follow(subscriber: Subscriber, after: string | undefined): Subscription {
    return this.#log.follow(subscriber, after, () => this.#read())
  }

  wake(): void {
    this.#log.wake()
    this.#open?.wake()
  }

  /** Starts a run, queues it, or refuses it. */
  async requestRun(body: RunBody): Promise<void> {
    // The new message comes after the history.
    await this.#opening
    const { runId, messageId, input, agent, workflow, whenBusy = 'queue', data } = body
    if (this.#isKnown(runId)) return
    const isBusy = this.#open !== undefined || this.#queue.length > 0
    if (isBusy && whenBusy === 'reject')
      throw new RequestError(
        { code: 'run_busy', message: 'Another run is open in this session: wait for it, or set whenBusy.' },
        CONFLICT,
      )
    if (this.#queue.length === MAX_QUEUED)
      throw new RequestError(
        { code: 'run_queue_full', message: `Expected at most ${MAX_QUEUED} queued messages: wait for a reply first.` },
        CONFLICT,
      )
    const program = workflow === undefined ? `agent:${agent ?? this.#server.name}` : `workflow:${workflow}`
    // After the first message, the history is not read any more.
    this.#isRead = true
    const requested: RequestedRun = { runId, program, message: messageOf(messageId, input), data, kind: 'say' }
    this.#logRequest(requested, { whenBusy })
    this.#queue.push(requested)
    if (isBusy && whenBusy === 'interrupt-previous') this.#halt('interrupted').catch(() => {})
    this.#next()
  }

  /** Repeats a turn, by default the last one. */
  retry({ of: retriedRunId, runId }: { readonly of?: string | undefined; readonly runId: string }): void {
    if (this.#isKnown(runId)) return
    const turn = this.#turns.findLast(turn => turn.runId === (retriedRunId ?? turn.runId))
    if (!turn)
      throw new RequestError(
        { code: 'run_unknown', message: 'Expected a turn to retry, found none: send a message first.' },
        NOT_FOUND,
      )
    if (turn !== this.#turns.at(-1)) this.#assertCanRewind()
    const { program, message, data, run } = turn
    // The server cannot regenerate a turn that it never got.
    this.#replace({ runId, program, message, data, replaces: turn, kind: run.hasReply ? 'regenerate' : 'say' })
  }

  /** Replaces a user message, and everything after it. */
  edit({ messageId, newMessageId, runId, input, data }: EditBody): void {
    if (this.#isKnown(runId)) return
    const turn = this.#turns.findLast(({ message }) => message?.messageId === messageId)
    if (!turn) {
      const message = `Expected the id of a message of a turn, found ${messageId}.`
      throw new RequestError({ code: 'message_unknown', message }, NOT_FOUND)
    }
    this.#assertCanRewind()
    const { program } = turn
    // To the server, it is the same message with other content.
    this.#ids.messages.set(newMessageId, this.#ids.messages.get(messageId) ?? messageId)
    this.#replace({ runId, program, message: messageOf(newMessageId, input), data, replaces: turn, kind: 'say' })
  }

  #assertCanRewind(): void {
    if (this.#server.canRewind !== false) return
    const message = 'This server can replace only its last reply: retry that one, or send a new message.'
    throw new RequestError({ code: 'not_supported', message }, CONFLICT)
  }

  #isKnown(runId: string): boolean {
    return [...this.#turns, ...this.#queue].some(one => one.runId === runId)
  }

  /** Runs before everything in the queue, and stops the open run. */
  #replace(requested: RequestedRun): void {
    this.#logRequest(requested, {})
    this.#queue.unshift(requested)
    this.#halt('interrupted').catch(() => {})
    this.#next()
  }

  #logRequest({ runId, program, message, data }: RequestedRun, options: Pick<RunBody, 'whenBusy'>): void {
    const { type, ...input } = message ?? { type: '' }
    if (!this.#open) this.#log.trim()
    this.#writeAsGuest({
      type: 'run-requested',
      runId,
      program,
      ...(message && { message: input as Omit<MessageChunk, 'type'> }),
      ...(data !== undefined && { data }),
      ...options,
    } as Chunk)
  }

  #writeAsGuest(chunk: Chunk): void {
    this.#log.append([{ chunk, origin: GUEST }])
  }

  #next(): void {
    if (this.#open) return
    const requested = this.#queue.shift()
    if (!requested) return
    void this.#begin(requested).drive(requested.kind)
  }

  #begin(requested: RequestedRun, control?: AbortController): ForeignRun {
    const { runId, program, message, data, replaces: replacedTurn } = requested
    const log = this.#log
    const replaces = replacedTurn && this.#replacedId(replacedTurn, requested.kind)
    if (replacedTurn) {
      this.#turns.length = this.#turns.indexOf(replacedTurn)
      log.rewind(this.#snapshots.rewind(this.#turns.length, log.view()))
    }
    this.#snapshots.begin(log.view())
    const run = new ForeignRun({
      sessionId: this.#sessionId,
      runId,
      program,
      data,
      replaces,
      control,
      server: this.#server,
      log,
      ids: this.#ids,
      onEnd: () => {
        this.#open = undefined
        if (this.#queue.length > 0) log.trim()
        this.#next()
      },
    })
    this.#open = run
    this.#turns.push({ ...requested, replaces: undefined, run })
    run.write({ type: 'run-started', program }, ...(message ? [message] : []))
    return run
  }

  /** The server's own id of the reply to regenerate, or of the user message to replace. */
  #replacedId({ runId, message }: Turn, kind: RequestedRun['kind']): string | undefined {
    const id = kind === 'say' ? message?.messageId : messageIdOf(runId, runId)
    const foreign = id && this.#ids.messages.get(id)
    return kind === 'say' ? (foreign ?? id) : foreign
  }

  /** Stops a run, by default the open one. Returns whether there was one to stop. */
  async stop({ runId, mode }: { readonly runId?: string; readonly mode?: 'interrupt' | 'abort' }): Promise<boolean> {
    const id = runId ?? this.#open?.runId ?? this.#queue[0]?.runId
    const index = this.#queue.findIndex(one => one.runId === id)
    if (index >= 0) {
      this.#queue.splice(index, 1)
      this.#writeAsGuest({ type: 'stop-requested', runId: id as string })
      return true
    }
    if (!this.#open || this.#open.runId !== id) return false
    await this.#halt(mode === 'abort' ? 'aborted' : 'interrupted', mode)
    return true
  }

  /** Stops the open run: here at once, then on the server. */
  async #halt(status: 'aborted' | 'interrupted', mode?: 'interrupt' | 'abort'): Promise<void> {
    const run = this.#open
    if (!run) return
    const { runId } = run
    this.#writeAsGuest({ type: 'stop-requested', runId, ...(mode && { mode }) })
    const reply = run.stop(status)
    await this.#server.stop?.({ sessionId: this.#sessionId, runId, signal: AbortSignal.timeout(TIMEOUT_MS) }, reply)
  }

  /** Answers a pending of the open run, or claims a call. */
  answer(body: AnswerBody): void {
    const { kind, id } = body
    const pendingKind = kind === 'approval' || kind === 'interrupt' ? kind : 'client-tool'
    const pending = this.#log.pendings.find(one => one.kind === pendingKind && one.id === id)
    if (!pending || !this.#open) throw answerUnknown(id)
    if (body.kind === 'claim') {
      this.#claim(pending, body)
      return
    }
    this.#writeAsGuest(answerChunkOf(body, pending))
    this.#open.answer(body)
  }

  #claim(pending: Pending, { id, client, forMs = CLAIM_MS }: Extract<AnswerBody, { kind: 'claim' }>): void {
    const { claim } = (pending as Extract<Pending, { kind: 'client-tool' }>).part
    if (claim && claim.by !== client && claim.until > Date.now()) {
      const message = 'Another client has claimed this call: wait until the claim expires.'
      throw new RequestError({ code: 'answer_claimed', message, retryable: true }, CONFLICT)
    }
    const until = Date.now() + forMs
    this.#writeAsGuest({ type: 'tool-claimed', toolCallId: id, until, ...(client !== undefined && { by: client }) })
  }

  /** Reads the history and joins the open run: once, for the first follower of a session without a message from this page. */
  #read(): Promise<void> | undefined {
    if (this.#isRead || !(this.#server.history || this.#server.resume)) return undefined
    this.#opening ??= this.#restore().finally(() => {
      this.#opening = undefined
    })
    return this.#opening
  }

  async #restore(): Promise<void> {
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    const history = await this.#server.history?.({ sessionId: this.#sessionId, signal })
    if (this.#isRead) return
    for (const turn of turnsOf(history ?? [])) this.#restoreTurn(turn)
    this.#isRead = true
    await this.#join()
  }

  /** Writes a turn of the history. Its run stays open for answers until the next turn begins. */
  #restoreTurn({ message: userMessage, reply }: PastTurn): void {
    this.#open?.finish('completed')
    const message = userMessage && this.#ids.userMessage(userMessage)
    const runId = `${message?.messageId ?? 'past'}~${this.#turns.length}`
    const requested: RequestedRun = { runId, program: `agent:${this.#server.name}`, message, kind: 'say' }
    this.#logRequest(requested, {})
    const run = this.#begin(requested)
    run.hasReply = true
    run.received(reply)
  }

  /** Joins the run that is open on the server, in the place of the last turn of the history. */
  async #join(): Promise<void> {
    const last = this.#turns.at(-1)
    const restored = this.#open
    const control = new AbortController()
    const reply = await this.#server
      .resume?.({
        sessionId: this.#sessionId,
        runId: last?.runId ?? '',
        kind: 'continue',
        messages: this.#ids.foreignMessages(this.#log.view().messages),
        answers: [],
        foreignIds: this.#ids.messages,
        signal: control.signal,
      })
      .catch(() => undefined)
    if (!reply) {
      restored?.settle('paused')
      return
    }
    const runId = `${last?.runId ?? 'past'}~`
    restored?.finish('interrupted')
    const requested: RequestedRun = {
      runId,
      program: `agent:${this.#server.name}`,
      message: last?.message,
      replaces: last,
      kind: 'say',
    }
    this.#logRequest(requested, {})
    void this.#begin(requested, control).drive('continue', reply)
  }
}

const messageOf = (messageId: string, { parts, metadata }: MessageInput): MessageChunk => ({
  type: 'message',
  messageId,
  role: 'user',
  parts,
  ...(metadata && { metadata }),
})

const answerUnknown = (id: string) =>
  new RequestError({ code: 'answer_unknown', message: `Expected the id of a pending request, found ${id}.` }, NOT_FOUND)

/** The chunk that settles a pending. */
function answerChunkOf(answer: ClientAnswer, pending: Pending): Chunk {
  switch (answer.kind) {
    case 'approval': {
      const { id: approvalId, approved, reason } = answer
      const { toolCallId } = (pending as Extract<Pending, { kind: 'approval' }>).part
      return {
        type: 'tool-approval-response',
        toolCallId,
        approvalId,
        approved,
        ...(reason !== undefined && { reason }),
      }
    }
    case 'interrupt':
      return { type: 'interrupt-response', interruptId: answer.id, response: answer.response }
    case 'tool-result':
      if ('error' in answer) return { type: 'tool-output-error', toolCallId: answer.id, errorText: answer.error }
      return { type: 'tool-output-available', toolCallId: answer.id, output: answer.output, executor: 'client' }
  }
}

/** A turn of the history. */
interface PastTurn {
  readonly message?: MessageChunk | undefined
  readonly reply: readonly DecodedChunk[]
}

function turnsOf(history: readonly DecodedChunk[]): PastTurn[] {
  const turns: (PastTurn & { readonly reply: DecodedChunk[] })[] = []
  for (const decoded of history) {
    const { chunk } = decoded
    if (chunk.type === 'message' && chunk.role === 'user') turns.push({ message: chunk, reply: [] })
    else {
      if (turns.length === 0) turns.push({ reply: [] })
      turns.at(-1)?.reply.push(decoded)
    }
  }
  return turns
}
