import { newId } from '@millrace/dialects'
import type { Computed } from '@millrace/dialects/foreign-server'
import { computed } from '@millrace/dialects/internal'
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
  EMPTY_MESSAGE,
  localFileParts,
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

/** Options of `createChat`. `A` is `typeof app`: it types agents, tools and callbacks. */
export interface ChatOptions<A = unknown> extends ApiOptions, ChatCallbacks<A> {
  /** Name of the agent that answers. Set this or `workflow`. @default none */
  readonly agent?: AgentName<A> | undefined
  /** Name of the workflow that answers. @default none */
  readonly workflow?: WorkflowName<A> | undefined
  /** Session id. @default a new session */
  readonly session?: string | undefined
  /** Connection to the server, Millrace's or another system's. @default the connection that the page shares for these options */
  readonly connection?: ChatConnection | undefined
  /** Tools that this client runs for agents, by name. @default {} */
  readonly tools?: ClientToolsOf<A> | undefined
  /** Handling of a message while a run is open. @default 'queue' */
  readonly whenBusy?: WhenBusy | undefined
  /** Value, or function that returns it, sent with every run. The server must not trust it. @default none */
  readonly data?: Computed<Json> | undefined
  /** Minimum interval between notifications, in ms. @default 16 */
  readonly streamFlushInterval?: number | undefined
  /** Initial content, such as for server rendering: a response of `GET /sessions/:id`. @default read from the server */
  readonly snapshot?: Snapshot | undefined
  /** Number of messages to load at once. @default 100 */
  readonly pageSize?: number | undefined
}

const PAGE_SIZE = 100

/** A conversation with a Millrace server, or by a foreign connection with another system's. */
export class HttpChat<A = unknown> implements Chat {
  readonly store: Store
  readonly #options: ChatOptions
  readonly #api: SessionApi
  readonly #observer: ChatObserver
  readonly #toolCalls: ToolCalls
  readonly #state: ObservableState
  readonly #outbox: Outbox
  readonly #sessionId: string
  readonly #follower: SessionFollower
  /** Id before which `loadOlder` continues. */
  #olderBefore: string | undefined
  /** Releases the start that a send made by itself, because the chat was not started. */
  #releaseAutoStart: (() => void) | undefined
  /** Reason of a lost connection while a run was open. */
  #disconnectReason: string | undefined
  /** Error due to which the session cannot be followed. */
  #streamError: ChatError | undefined

  constructor(typedOptions: ChatOptions<A>) {
    const options = typedOptions as ChatOptions
    const { snapshot, session, streamFlushInterval, tools = {} } = options
    this.#options = options
    const connection = options.connection ?? sharedConnection(options)
    this.store = new Store({ flushIntervalMs: streamFlushInterval, view: snapshot?.view })
    this.#observer = new ChatObserver(this.store, {
      runFailed: ({ runId, error }) =>
        this.#report({ code: 'run_failed', message: 'The run failed.', ...error }, 'stream', { runId }),
      titleChanged: title => this.#state.set({ title }),
    })
    this.#observer.callbacks = options
    this.#sessionId = session ?? newId()
    this.#api = new SessionApi(connection.api, this.#sessionId)
    this.#toolCalls = new ToolCalls(this.#api, (error, toolCallId) => this.#report(error, 'answer', { toolCallId }))
    this.#toolCalls.tools = tools
    this.#outbox = new Outbox(this.#api)
    const mayExist = session !== undefined
    this.#state = new ObservableState({ sessionId: this.#sessionId, isLoading: mayExist })
    this.#follower = new SessionFollower(this.#sessionId, mayExist, connection, this.#listener())
    if (snapshot) this.#begin(snapshot)
    this.store.subscribe(['ledger'], () => this.#updateStatus())
    this.store.subscribe(['pendings'], () => this.#updateToolCalls())
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
    return this.#toolCalls.tools
  }

  set tools(tools: ClientTools) {
    this.#toolCalls.tools = tools
    this.#updateToolCalls()
  }

  subscribe(listener: () => void): () => void {
    return this.#state.subscribe(listener)
  }

  start(): () => void {
    const release = this.#follower.start()
    this.#releaseAutoStart?.()
    this.#updateToolCalls()
    return release
  }

  #updateToolCalls(): void {
    if (this.#follower.isFollowing) this.#toolCalls.update(this.store.pendings)
  }

  get #pageSize(): number {
    return this.#options.pageSize ?? PAGE_SIZE
  }

  #listener(): SessionListener {
    return {
      pageSize: () => this.#pageSize,
      isNew: () => this.store.head === 0,
      snapshot: snapshot => {
        // Read before `restore`: listeners of the store remove runs from the outbox.
        const ownRunIds = new Set(this.#outbox.runs.map(({ runId }) => runId))
        this.#begin(snapshot, ownRunIds, this.store.restore(snapshot.view, snapshot.page?.before))
      },
      entries: (entries, through) => this.#observer.apply(entries, through),
      status: (status, reason) => this.#onStatus(status, reason),
      failed: (failure, isMissing) => this.#onFailure(failure, isMissing),
    }
  }

  #begin({ cursor, page, title, view }: Snapshot, ownRunIds = new Set<string>(), keepsOlder = false): void {
    this.#follower.cursor = cursor
    this.#state.set({ isLoading: false, title })
    if (!keepsOlder) {
      this.#olderBefore = page?.before
      this.#state.set({ hasOlder: page?.hasMore ?? false })
    }
    this.#observer.begin(view, ownRunIds)
    this.#updateStatus()
  }

  #onStatus(status: ConnectionStatus, reason: string): void {
    if (!this.#follower.isStarted) this.#toolCalls.close()
    this.#state.set({ connection: { status, reason } })
    if (status === 'live' && this.#streamError) {
      this.#resolveError(this.#streamError)
      this.#streamError = undefined
      this.#updateStatus()
    }
    if (status === 'offline' && this.state.runId !== undefined) this.#disconnectReason ??= reason
    if (status !== 'live' || this.#disconnectReason === undefined) return
    const error = chatErrorOf(this.#disconnectReason, 'stream', { recovered: true })
    this.#disconnectReason = undefined
    invokeCallback(this.callbacks.onError, { ...error, code: 'disconnected', retryable: false })
  }

  /** The session cannot be followed. Its messages stay. */
  #onFailure(failure: Failure, isMissing: boolean): void {
    this.#disconnectReason = undefined
    this.#state.set({ isLoading: false })
    for (const run of this.#outbox.runs) if (run.outcome === 'accepted') this.#sendFailed(run, failure)
    if (isMissing || this.#streamError?.code === failure.code) return
    const { runId } = this.state
    this.#streamError = chatErrorOf(failure, 'stream', undefined, false)
    this.#setError(this.#streamError)
    if (runId !== undefined) this.#observer.disconnected(runId)
  }

  #report(error: unknown, source: ErrorSource, details?: unknown): ChatError {
    return this.#setError(chatErrorOf(error, source, details))
  }

  #setError(error: ChatError): ChatError {
    this.#state.set({ error })
    this.#updateStatus()
    invokeCallback(this.callbacks.onError, error)
    return error
  }

  /** Clears an error that no longer applies. */
  #resolveError(error: unknown): void {
    if (error && this.state.error === error) this.#state.set({ error: undefined })
  }

  #updateStatus(): void {
    const { runs, requests } = this.store.ledger
    if (this.#outbox.runs.length > 0) {
      for (const { runId } of [...runs, ...requests]) this.#resolveError(this.#outbox.delete(runId)?.outcome)
    }
    const isSending = this.#outbox.runs.some(isInFlight)
    // The status of runs is unknown if the session cannot be followed.
    const openRun = this.#streamError ? undefined : runs.findLast(({ finishedAt }) => finishedAt === undefined)
    const isQueued = !this.#streamError && requests.some(({ status }) => status === 'waiting')
    const idleStatus = isSending || isQueued ? 'submitted' : this.state.error ? 'error' : 'ready'
    const status = openRun ? (openRun.status === 'paused' ? 'paused' : 'streaming') : idleStatus
    this.#state.set({ status, runId: openRun?.runId })
    if (!openRun && idleStatus !== 'submitted') this.#releaseAutoStart?.()
  }

  clearError(): void {
    this.#state.set({ error: undefined })
    this.#updateStatus()
  }

  async sendMessage(input: ChatInput, options: SendOptions = {}): Promise<SendResult> {
    const { messageId = newId() } = options
    const { agent, workflow } = options.agent || options.workflow ? options : this.#options
    return this.#send('/runs', messageId, input, async () => {
      const { whenBusy = this.#options.whenBusy ?? 'queue', data = await computed(this.#options.data) } = options
      return { agent, workflow, messageId, whenBusy, data }
    })
  }

  async edit(messageId: string, input: ChatInput): Promise<SendResult> {
    const newMessageId = newId()
    return this.#send('/edit', newMessageId, input, async () => ({
      messageId,
      newMessageId,
      data: await computed(this.#options.data),
    }))
  }

  /** Sends a message. It is shown optimistically, and stays with an error if the send fails. */
  async #send(
    path: string,
    messageId: string,
    input: ChatInput,
    createFields: () => Promise<object>,
  ): Promise<SendResult> {
    const { parts, files, metadata } = contentOf(input)
    if (parts.length + files.length === 0) return { messageId, error: EMPTY_MESSAGE }
    const runId = newId()
    const message = toSendingMessage(
      { messageId, role: 'user', parts: [...parts, ...localFileParts(files)], ...(metadata && { metadata }) },
      Date.now(),
    )
    const createBody = async () => {
      const uploaded: UserPart[] = []
      for (const file of files) uploaded.push(await this.#api.upload(file))
      return { ...(await createFields()), runId, input: { parts: [...parts, ...uploaded], metadata } }
    }
    return this.#requestRun({ path, messageId, runId, message, createBody })
  }

  /** Requests a run, and follows the session from then on. */
  async #requestRun(outgoing: OutgoingRun): Promise<SendResult> {
    const { messageId, runId, message } = outgoing
    if (!this.#follower.isStarted) this.#releaseAutoStart = this.start()
    const sent = this.#outbox.send(outgoing)
    if (message) this.store.add(message)
    this.store.flush()
    this.#state.set({ error: undefined })
    this.#updateStatus()
    try {
      await sent
    } catch (error) {
      // The log has the run although the response was lost.
      if (!this.#outbox.has(outgoing)) return { messageId, runId }
      const chatError = this.#sendFailed(outgoing, error)
      // The server may have accepted it.
      if (chatError.retryable) this.#follower.followNow(false)
      return { messageId, error: chatError }
    }
    this.#follower.followNow(true)
    this.#updateStatus()
    return { messageId, runId }
  }

  /** Marks a run as failed to send. The server may still have accepted it. */
  #sendFailed(outgoing: OutgoingRun, error: unknown): ChatError {
    const { messageId, runId, message: sending } = outgoing
    const chatError = chatErrorOf(error, 'send', { messageId })
    const { code, message, retryable } = chatError
    outgoing.outcome = chatError
    if (sending) this.store.add({ ...sending, status: 'error', error: { code, message, retryable } })
    // A refused request may be sent with another body.
    if (!retryable) outgoing.body = undefined
    if (!retryable && !sending) this.#outbox.delete(runId)
    return this.#setError(chatError)
  }

  async stop({ runId = this.state.runId, mode }: { runId?: string; mode?: 'interrupt' | 'abort' } = {}): Promise<void> {
    const sent = runId === undefined ? this.#outbox.runs.filter(isInFlight) : []
    // While the request of a run is in flight, the server does not know it. The stop waits for the reply.
    await (sent.length > 0 && this.#outbox.settled)
    // The last run first. Otherwise a queued run would start when the one before it stops.
    const runIds = sent.filter(({ outcome }) => outcome === 'accepted').map(run => run.runId)
    if (runIds.length === 0 && !this.#follower.mayExist) return
    try {
      for (const id of runIds.length > 0 ? runIds.reverse() : [runId]) {
        await this.#api.askWithRetry('POST', '/stop', { runId: id, mode })
      }
    } catch (error) {
      this.#report(error, 'send')
    }
  }

  async retry(messageId?: string): Promise<SendResult> {
    const failed = this.#outbox.failed(messageId)
    return failed ? this.#requestRun(failed) : this.regenerate(messageId)
  }

  async regenerate(messageId?: string): Promise<SendResult> {
    const request = this.store.ledger.requests.findLast(
      ({ status, message }) => status === 'started' && message?.messageId === (messageId ?? message?.messageId),
    )
    if (messageId === undefined) return this.#redo(request?.message?.messageId ?? '')
    const targetRunId = request?.runId ?? this.#runIdOf(messageId)
    if (targetRunId !== undefined) return this.#redo(messageId, targetRunId)
    const message = `Expected the id of a message of a turn, found ${messageId}.`
    const error = new RequestError({ code: 'message_unknown', message })
    return { messageId, error: this.#report(error, 'send', { messageId }) }
  }

  /** Id of the run that wrote a message or answered it. */
  #runIdOf(messageId: string): string | undefined {
    const { messages } = this.store
    const at = messages.findIndex(({ id }) => id === messageId)
    const isNextTurn = (role: string, i: number) => role === 'user' && i > 0
    return messages.slice(at >>> 0).find(({ runId, role }, i) => runId !== undefined || isNextTurn(role, i))?.runId
  }

  /** Repeats the turn of a run, or the last turn. */
  #redo(messageId: string, targetRunId?: string): Promise<SendResult> {
    const runId = newId()
    return this.#requestRun({ path: '/retry', messageId, runId, createBody: async () => ({ of: targetRunId, runId }) })
  }

  async answer(answer: ChatAnswer): Promise<void> {
    try {
      // Includes pendings that are not notified yet.
      this.store.flush()
      const pending = this.store.pendings.find(({ id }) => id === answer.id)
      // Sends the input that the user saw: the server approves only that one.
      const approved = pending && 'part' in pending && !pending.part.blobs ? { input: pending.part.input ?? null } : {}
      if (answer.kind === 'approval' && answer.approved && !pending)
        throw new RequestError({
          code: 'answer_unknown',
          message: `Expected the id of a pending approval, found ${answer.id}.`,
        })
      await this.#api.answer(answer.kind === 'approval' ? { ...approved, ...answer } : answer)
    } catch (error) {
      this.#report(error, 'answer', { id: answer.id })
      throw error
    }
  }

  async loadOlder(): Promise<void> {
    const { hasOlder, isLoadingOlder } = this.state
    const before = this.#olderBefore
    if (!hasOlder || isLoadingOlder || before === undefined) return
    this.#state.set({ isLoadingOlder: true })
    try {
      const path = `?messages=last:${this.#pageSize}&before=${encodeURIComponent(before)}`
      type Older = { messages: Message[]; page: NonNullable<Snapshot['page']> }
      const { messages, page } = await this.#api.ask<Older>('GET', path)
      // A snapshot may have replaced the messages meanwhile.
      if (this.#olderBefore !== before) return
      this.store.prepend(messages)
      this.#olderBefore = page.before
      this.#state.set({ hasOlder: page.hasMore })
    } catch (error) {
      this.#report(error, 'history')
    } finally {
      this.#state.set({ isLoadingOlder: false })
    }
  }
}

/** Creates a chat with the Millrace server at `api`, or with the server that `connection` leads to. */
export const createChat = <A = unknown>(options: ChatOptions<A>): Chat => new HttpChat(options)
