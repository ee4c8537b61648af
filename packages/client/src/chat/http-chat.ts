import { newId } from '@millrace/dialects'
import { type Computed, computed } from '@millrace/dialects/internal'
import type { ConnectionStatus, Failure, Json, Message, Snapshot } from '@millrace/protocol'
import type { ApiOptions } from '../connection/api.ts'
import { type ChatConnection, sharedConnection } from '../connection/page-connection.ts'
import { type ChatError, chatErrorOf, type ErrorSource, RequestError } from '../error/chat-error.ts'
import { toSendingMessage } from '../store/local-messages.ts'
import { Store } from '../store/store.ts'
import type { AgentName, ClientTools, ClientToolsOf, WorkflowName } from '../types/index.ts'
import { type ChatCallbacks, invokeCallback } from './callbacks.ts'
import {
  type Chat,
  type ChatAnswer,
  type ChatInput,
  type ChatState,
  contentOf,
  EMPTY,
  filesShown,
  type SendOptions,
  type SendResult,
  type UserPart,
  type WhenBusy,
} from './chat.ts'
import { ChatObserver } from './chat-observer.ts'
import { ObservableState } from './observable-state.ts'
import { isInFlight, Outbox, type OutgoingRun } from './outbox.ts'
import { SessionApi } from './session-api.ts'
import { SessionFollower, type SessionListener } from './session-follower.ts'
import { ToolCalls } from './tool-calls.ts'

/** `A` is `typeof app`, where the compiler is to know what a server has. */
export interface ChatOptions<A = unknown> extends ApiOptions, ChatCallbacks<A> {
  /** Who answers: an agent, or a workflow, by its name. */
  readonly agent?: AgentName<A> | undefined
  readonly workflow?: WorkflowName<A> | undefined
  /** The session; a new one, if nothing is said. */
  readonly session?: string | undefined
  /** The connection that carries it: the page's own, if nothing is said; or one to another system's server. */
  readonly connection?: ChatConnection | undefined
  /** What this client can run for agents. */
  readonly tools?: ClientToolsOf<A> | undefined
  /** What becomes of a message while a run is open; `queue`, if nothing is said. */
  readonly whenBusy?: WhenBusy | undefined
  /** Goes along with every run; untrusted there. */
  readonly data?: Computed<Json> | undefined
  readonly streamFlushInterval?: number | undefined
  /** What to begin with, as `GET /sessions/:id` gave it. */
  readonly snapshot?: Snapshot | undefined
  /** How many messages are read at once; 100, if nothing is said. */
  readonly pageSize?: number | undefined
}

const PAGE_SIZE = 100

/** A conversation with a Millrace server, or with another that a connection makes look like one. */
export class HttpChat<A = unknown> implements Chat {
  readonly store: Store
  readonly #options: ChatOptions
  readonly #api: SessionApi
  readonly #observer: ChatObserver
  readonly #calls: ToolCalls
  readonly #state: ObservableState
  readonly #outbox: Outbox
  readonly #sessionId: string
  readonly #follower: SessionFollower
  #older: string | undefined
  /** Leaves what nobody has started, once what was asked for is done. */
  #release: (() => void) | undefined
  /** Why the connection was lost while a run was open. */
  #lost: string | undefined
  /** Why the session cannot be followed. */
  #broken: ChatError | undefined

  constructor(given: ChatOptions<A>) {
    // What the compiler knows of an app nobody needs here.
    const options = given as ChatOptions
    const { snapshot, session, streamFlushInterval, tools = {} } = options
    this.#options = options
    const connection = options.connection ?? sharedConnection(options)
    this.store = new Store({ flushInterval: streamFlushInterval, view: snapshot?.view })
    this.#observer = new ChatObserver(this.store, {
      failed: ({ runId, error }) =>
        this.#report({ code: 'run_failed', message: 'The run failed.', ...error }, 'stream', { runId }),
      titled: title => this.#state.set({ title }),
    })
    this.#observer.callbacks = options
    this.#sessionId = session ?? newId()
    this.#api = new SessionApi(connection.api, this.#sessionId)
    this.#calls = new ToolCalls(this.#api, (error, toolCallId) => this.#report(error, 'answer', { toolCallId }))
    this.#calls.tools = tools
    this.#outbox = new Outbox(this.#api)
    const isKnown = session !== undefined
    this.#state = new ObservableState({ sessionId: this.#sessionId, isLoading: isKnown })
    this.#follower = new SessionFollower(this.#sessionId, isKnown, connection, this.#listener())
    if (snapshot) this.#begin(snapshot)
    this.store.subscribe(['ledger'], () => this.#look())
    this.store.subscribe(['pendings'], () => this.#lookForCalls())
  }

  get state(): ChatState {
    return this.#state.value
  }

  get callbacks(): ChatCallbacks {
    return this.#observer.callbacks
  }

  set callbacks(callbacks: ChatCallbacks) {
    this.#observer.callbacks = callbacks
  }

  get tools(): ClientTools {
    return this.#calls.tools
  }

  set tools(tools: ClientTools) {
    this.#calls.tools = tools
    this.#lookForCalls()
  }

  subscribe(listener: () => void): () => void {
    return this.#state.subscribe(listener)
  }

  start(): () => void {
    const leave = this.#follower.start()
    this.#release?.()
    this.#lookForCalls()
    return leave
  }

  #lookForCalls(): void {
    if (this.#follower.isFollowing) this.#calls.look(this.store.pendings)
  }

  get #pageSize(): number {
    return this.#options.pageSize ?? PAGE_SIZE
  }

  #listener(): SessionListener {
    return {
      pageSize: () => this.#pageSize,
      isNew: () => this.store.head === 0,
      snapshot: snapshot => {
        // Before who listens to the store sees them there.
        const own = new Set(this.#outbox.all.map(({ runId }) => runId))
        this.#begin(snapshot, own, this.store.restore(snapshot.view, snapshot.page?.before))
      },
      entries: (entries, through) => this.#observer.apply(entries, through),
      status: (status, reason) => this.#heard(status, reason),
      failed: (failure, isNone) => this.#failed(failure, isNone),
    }
  }

  #begin({ cursor, page, title, view }: Snapshot, own = new Set<string>(), hasOlderShown = false): void {
    this.#follower.cursor = cursor
    this.#state.set({ isLoading: false, title })
    if (!hasOlderShown) {
      this.#older = page?.before
      this.#state.set({ hasOlder: page?.hasMore ?? false })
    }
    this.#observer.begin(view, own)
    this.#look()
  }

  #heard(status: ConnectionStatus, reason: string): void {
    if (!this.#follower.isStarted) this.#calls.close()
    this.#state.set({ connection: { status, reason } })
    if (status === 'live' && this.#broken) {
      this.#forget(this.#broken)
      this.#broken = undefined
      this.#look()
    }
    if (status === 'offline' && this.state.runId !== undefined) this.#lost ??= reason
    if (status !== 'live' || this.#lost === undefined) return
    const lost = chatErrorOf(this.#lost, 'stream', { recovered: true })
    this.#lost = undefined
    invokeCallback(this.callbacks.onError, { ...lost, code: 'disconnected', retryable: false })
  }

  /** It cannot be followed: what it shows stays. */
  #failed(failure: Failure, isNone: boolean): void {
    this.#lost = undefined
    this.#state.set({ isLoading: false })
    for (const one of this.#outbox.all) if (one.fate === 'accepted') this.#lose(one, failure)
    if (isNone || this.#broken?.code === failure.code) return
    const { runId } = this.state
    this.#broken = chatErrorOf(failure, 'stream', undefined, false)
    this.#tell(this.#broken)
    if (runId !== undefined) this.#observer.lose(runId)
  }

  #report(error: unknown, source: ErrorSource, details?: unknown): ChatError {
    return this.#tell(chatErrorOf(error, source, details))
  }

  #tell(error: ChatError): ChatError {
    this.#state.set({ error })
    this.#look()
    invokeCallback(this.callbacks.onError, error)
    return error
  }

  /** It is an error no more. */
  #forget(error: unknown): void {
    if (error && this.state.error === error) this.#state.set({ error: undefined })
  }

  #look(): void {
    const { runs, requests } = this.store.ledger
    if (this.#outbox.all.length > 0) {
      for (const { runId } of [...runs, ...requests]) this.#forget(this.#outbox.delete(runId)?.fate)
    }
    const isUnderWay = this.#outbox.all.some(isInFlight)
    // How it stands with a session that cannot be followed is not known.
    const open = this.#broken ? undefined : runs.findLast(({ finishedAt }) => finishedAt === undefined)
    const isWaiting = !this.#broken && requests.some(({ status }) => status === 'waiting')
    const idle = isUnderWay || isWaiting ? 'submitted' : this.state.error ? 'error' : 'ready'
    const status = open ? (open.status === 'paused' ? 'paused' : 'streaming') : idle
    this.#state.set({ status, runId: open?.runId })
    if (!open && idle !== 'submitted') this.#release?.()
  }

  clearError(): void {
    this.#state.set({ error: undefined })
    this.#look()
  }

  async sendMessage(input: ChatInput, options: SendOptions = {}): Promise<SendResult> {
    const { messageId = newId() } = options
    const { agent, workflow } = options.agent || options.workflow ? options : this.#options
    return this.#say('/runs', messageId, input, async () => {
      const { whenBusy = this.#options.whenBusy ?? 'queue', data = await computed(this.#options.data) } = options
      return { agent, workflow, messageId, whenBusy, data }
    })
  }

  async edit(messageId: string, input: ChatInput): Promise<SendResult> {
    const newMessageId = newId()
    return this.#say('/edit', newMessageId, input, async () => ({
      messageId,
      newMessageId,
      data: await computed(this.#options.data),
    }))
  }

  /** Says something, which is shown until the log has it, and stays where it cannot be sent. */
  async #say(path: string, messageId: string, input: ChatInput, about: () => Promise<object>): Promise<SendResult> {
    const { parts, files, metadata } = contentOf(input)
    if (parts.length + files.length === 0) return { messageId, error: EMPTY }
    const runId = newId()
    const shown = toSendingMessage(
      { messageId, role: 'user', parts: [...parts, ...filesShown(files)], ...(metadata && { metadata }) },
      Date.now(),
    )
    const make = async () => {
      const uploaded: UserPart[] = []
      for (const file of files) uploaded.push(await this.#api.upload(file))
      return { ...(await about()), runId, input: { parts: [...parts, ...uploaded], metadata } }
    }
    return this.#ask({ path, messageId, runId, shown, make })
  }

  /** Asks for a run, and follows the session from then on. */
  async #ask(outgoing: OutgoingRun): Promise<SendResult> {
    const { messageId, runId, shown } = outgoing
    if (!this.#follower.isStarted) this.#release = this.start()
    const asked = this.#outbox.ask(outgoing)
    if (shown) this.store.add(shown)
    this.store.flush()
    this.#state.set({ error: undefined })
    this.#look()
    try {
      await asked
    } catch (error) {
      // The log has it, whatever became of the replies.
      if (!this.#outbox.has(outgoing)) return { messageId, runId }
      const told = this.#lose(outgoing, error)
      // It may be there all the same.
      if (told.retryable) this.#follower.followNow(false)
      return { messageId, error: told }
    }
    this.#follower.followNow(true)
    this.#look()
    return { messageId, runId }
  }

  /** What was asked for did not get there, as far as can be known. */
  #lose(outgoing: OutgoingRun, error: unknown): ChatError {
    const { messageId, runId, shown } = outgoing
    const told = chatErrorOf(error, 'send', { messageId })
    const { code, message, retryable } = told
    outgoing.fate = told
    if (shown) this.store.add({ ...shown, status: 'error', error: { code, message, retryable } })
    // What was refused may be asked for otherwise.
    if (!retryable) outgoing.body = undefined
    if (!retryable && !shown) this.#outbox.delete(runId)
    return this.#tell(told)
  }

  async stop({ runId = this.state.runId, mode }: { runId?: string; mode?: 'interrupt' | 'abort' } = {}): Promise<void> {
    const sent = runId === undefined ? this.#outbox.all.filter(isInFlight) : []
    // What is on its way can only be stopped once it is there.
    await (sent.length > 0 && this.#outbox.turn)
    // The last first, or it would begin.
    const runIds = sent.filter(({ fate }) => fate === 'accepted').map(one => one.runId)
    if (runIds.length === 0 && !this.#follower.isKnown) return
    try {
      for (const one of runIds.length > 0 ? runIds.reverse() : [runId]) {
        await this.#api.askWithRetry('POST', '/stop', { runId: one, mode })
      }
    } catch (error) {
      this.#report(error, 'send')
    }
  }

  async retry(messageId?: string): Promise<SendResult> {
    const failed = this.#outbox.failed(messageId)
    return failed ? this.#ask(failed) : this.regenerate(messageId)
  }

  async regenerate(messageId?: string): Promise<SendResult> {
    const turn = this.store.ledger.requests.findLast(
      ({ status, message }) => status === 'started' && message?.messageId === (messageId ?? message?.messageId),
    )
    if (messageId === undefined) return this.#redo(turn?.message?.messageId ?? '')
    const of = turn?.runId ?? this.#runAfter(messageId)
    if (of !== undefined) return this.#redo(messageId, of)
    const message = `No turn has the message ${messageId}.`
    const error = new RequestError({ code: 'message_unknown', message })
    return { messageId, error: this.#report(error, 'send', { messageId }) }
  }

  /** The run that a message is of, or that answered it. */
  #runAfter(messageId: string): string | undefined {
    const { messages } = this.store
    const at = messages.findIndex(({ id }) => id === messageId)
    const isAnother = (role: string, i: number) => role === 'user' && i > 0
    return messages.slice(at >>> 0).find(({ runId, role }, i) => runId !== undefined || isAnother(role, i))?.runId
  }

  /** Does a turn again. */
  #redo(messageId: string, of?: string): Promise<SendResult> {
    const runId = newId()
    return this.#ask({ path: '/retry', messageId, runId, make: async () => ({ of, runId }) })
  }

  async answer(answer: ChatAnswer): Promise<void> {
    try {
      // What came just now is shown, too.
      this.store.flush()
      const pending = this.store.pendings.find(({ id }) => id === answer.id)
      // What was shown is what may run.
      const shown = pending && 'part' in pending && !pending.part.blobs ? { input: pending.part.input ?? null } : {}
      if (answer.kind === 'approval' && answer.approved && !pending)
        throw new RequestError({ code: 'answer_unknown', message: `No pending has the id ${answer.id}.` })
      await this.#api.answer(answer.kind === 'approval' ? { ...shown, ...answer } : answer)
    } catch (error) {
      this.#report(error, 'answer', { id: answer.id })
      throw error
    }
  }

  async loadOlder(): Promise<void> {
    const { hasOlder, isLoadingOlder } = this.state
    const before = this.#older
    if (!hasOlder || isLoadingOlder || before === undefined) return
    this.#state.set({ isLoadingOlder: true })
    try {
      const path = `?messages=last:${this.#pageSize}&before=${encodeURIComponent(before)}`
      type Older = { messages: Message[]; page: NonNullable<Snapshot['page']> }
      const { messages, page } = await this.#api.ask<Older>('GET', path)
      // What is shown may begin elsewhere by now.
      if (this.#older !== before) return
      this.store.prepend(messages)
      this.#older = page.before
      this.#state.set({ hasOlder: page.hasMore })
    } catch (error) {
      this.#report(error, 'history')
    } finally {
      this.#state.set({ isLoadingOlder: false })
    }
  }
}

/** Creates a chat with the server at `api` (the page's own by default) or with the one that `connection` leads to. */
export const createChat = <A = unknown>(options: ChatOptions<A>): Chat => new HttpChat(options)
