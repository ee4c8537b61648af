import {
  type ConnectionStatus,
  type Failure,
  type Following,
  type Json,
  type Message,
  messageIdOf,
  type Snapshot,
} from '@millrace/protocol'
import type { ApiOptions, Computed } from '../connection/api.ts'
import type { PageConnection } from '../connection/connection.ts'
import { sharedConnection } from '../connection/shared.ts'
import { chatErrorOf, type ErrorSource, failureOf } from '../error.ts'
import { newId } from '../id.ts'
import { sendingOf } from '../store/local.ts'
import { Store } from '../store/store.ts'
import type { AgentName, ClientToolsOf, WorkflowName } from '../types/index.ts'
import { type ChatCallbacks, tell } from './callbacks.ts'
import {
  type Chat,
  type ChatAnswer,
  type ChatInput,
  type ChatState,
  EMPTY,
  isEmpty,
  partsOf,
  type SendOptions,
  type SendResult,
  type WhenBusy,
} from './chat.ts'
import { Observer } from './observer.ts'
import { SessionApi } from './session-api.ts'
import { StateCell } from './state.ts'
import { type ClientTools, ToolCalls } from './tools.ts'

/** `A` is `typeof app`, where the compiler is to know what a server has. */
export interface HttpChatOptions<A = unknown> extends ApiOptions, ChatCallbacks<A> {
  /** Who answers: an agent, or a workflow, by its name. */
  readonly agent?: AgentName<A> | undefined
  readonly workflow?: WorkflowName<A> | undefined
  /** The session; a new one, if nothing is said. */
  readonly session?: string | undefined
  /** The connection that carries it; the page's own, if nothing is said. */
  readonly connection?: PageConnection | undefined
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

/** What is on its way: enough to send it again, as the same. */
interface Outgoing {
  readonly messageId: string
  readonly runId: string
  readonly input: ChatInput
  readonly options: SendOptions
}

/** A conversation with a Millrace server. */
export class HttpChat<A = unknown> implements Chat {
  readonly store: Store
  readonly #options: HttpChatOptions
  readonly #connection: PageConnection
  readonly #api: SessionApi
  readonly #observer: Observer
  readonly #calls: ToolCalls
  readonly #state: StateCell
  readonly #outgoing = new Map<string, Outgoing>()
  /** Runs that were asked for, and have not been seen in the log: until when it is known whether they got there. */
  readonly #expected = new Map<string, Promise<unknown>>()
  readonly #sessionId: string
  #cursor: string | undefined
  #older: string | undefined
  #following: Following | undefined
  #starts = 0
  #isKnown: boolean
  /** Whether it was looked for, and there was none. */
  #isNone = false
  /** Whether the server has taken something for it, of which nothing was seen yet. */
  #isMade = false
  /** Why the connection was lost while a run was open. */
  #lost: string | undefined

  constructor(given: HttpChatOptions<A>) {
    // What the compiler knows of an app nobody needs here.
    const options = given as HttpChatOptions
    const { snapshot, session, streamFlushInterval, tools = {} } = options
    this.#options = options
    this.#connection = options.connection ?? sharedConnection(options)
    this.store = new Store({ flushInterval: streamFlushInterval, view: snapshot?.view })
    this.#observer = new Observer(this.store, {
      failed: ({ runId, error }) =>
        this.#report({ code: 'run_failed', message: 'The run failed.', ...error }, 'stream', { runId }),
      titled: title => this.#state.set({ title }),
    })
    this.#observer.callbacks = options
    this.#sessionId = session ?? newId()
    this.#api = new SessionApi(this.#connection.api, this.#sessionId)
    this.#calls = new ToolCalls(this.#api)
    this.#calls.tools = tools
    this.#state = new StateCell({ sessionId: this.#sessionId })
    // A session that was just thought of is nobody's to read.
    this.#isKnown = session !== undefined
    if (snapshot) this.#begin(snapshot)
    this.store.subscribe(['ledger'], () => this.#look())
    this.store.subscribe(['pendings'], () => {
      if (this.#following) this.#calls.look(this.store.pendings)
    })
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
    if (this.#following) this.#calls.look(this.store.pendings)
  }

  subscribe(listener: () => void): () => void {
    return this.#state.subscribe(listener)
  }

  start(): () => void {
    this.#starts++
    if (this.#isKnown) this.#follow()
    let isStarted = true
    return () => {
      if (!isStarted) return
      isStarted = false
      if (--this.#starts === 0) this.#leave()
    }
  }

  #leave(): void {
    // Without one it was about to take a snapshot, and then has to.
    if (this.#following) this.#cursor = this.#following.cursor
    this.#following?.close()
    this.#following = undefined
    this.#calls.close()
    this.#state.set({ connection: { status: 'idle', reason: 'nobody follows' } })
  }

  #follow(): void {
    if (this.#following || this.#starts === 0) return
    const { pageSize = 100 } = this.#options
    this.#following = this.#connection.follow(
      this.#sessionId,
      {
        messages: pageSize,
        snapshot: snapshot => {
          // Before who listens to the store sees them there.
          const own = new Set(this.#expected.keys())
          this.#begin(snapshot, own, this.store.restore(snapshot.view, snapshot.page?.before))
        },
        entries: (entries, through) => {
          if (!this.#observer.apply(entries, through)) this.#following?.refresh()
        },
        status: (status, reason) => this.#heard(status, reason),
        fail: failure => this.#failed(failure),
      },
      this.#cursor,
    )
    this.#calls.look(this.store.pendings)
  }

  /** Follows from where it is; of a session that was just made, everything is news. */
  #followAnew(): void {
    if (this.#isMade) this.#cursor ??= '0'
    this.#isNone = this.#isMade = false
    this.#following?.close()
    this.#following = undefined
    this.#follow()
  }

  #begin({ cursor, page, title, view }: Snapshot, own = new Set<string>(), hasOlderShown = false): void {
    this.#cursor = cursor
    this.#isNone = false
    if (!hasOlderShown) {
      this.#older = page?.before
      this.#state.set({ hasOlder: page?.hasMore ?? false })
    }
    this.#state.set({ title })
    this.#observer.begin(view, own)
    this.#look()
  }

  #heard(status: ConnectionStatus, reason: string): void {
    this.#state.set({ connection: { status, reason } })
    if (status === 'offline' && this.state.runId !== undefined) this.#lost ??= reason
    if (status !== 'live' || this.#lost === undefined) return
    const lost = failureOf(this.#lost)
    this.#lost = undefined
    const error = { ...chatErrorOf(lost, 'stream', { recovered: true }), code: 'disconnected', retryable: false }
    tell(this.callbacks.onError, error)
  }

  /** It cannot be followed: what it shows stays. */
  #failed(failure: Failure): void {
    this.#lost = undefined
    // Nobody has said anything in it yet.
    this.#isNone = failure.code === 'session_unknown' && this.store.head === 0
    if (this.#isNone) {
      this.#state.set({ connection: { status: 'idle', reason: 'nobody has said anything yet' } })
      // It may have been made since.
      if (this.#isMade) this.#followAnew()
      return
    }
    const { runId } = this.state
    this.#report(failure, 'stream')
    if (runId === undefined) return
    const message = this.store.message(messageIdOf(runId, runId))
    const { messages } = this.store
    const how = { isAbort: false, isDisconnect: true, isError: true }
    tell(this.callbacks.onFinish, { runId, ...(message && { message }), messages, ...how })
  }

  #report(error: unknown, source: ErrorSource, details?: unknown): NonNullable<ChatState['error']> {
    const told = chatErrorOf(error, source, details)
    this.#state.set({ error: told })
    this.#look()
    tell(this.callbacks.onError, told)
    return told
  }

  #look(): void {
    const { runs, requests } = this.store.ledger
    const open = runs.findLast(({ finishedAt }) => finishedAt === undefined)
    const isWaiting = requests.some(({ status }) => status === 'waiting')
    for (const { runId } of this.#expected.size > 0 ? [...runs, ...requests] : []) this.#expected.delete(runId)
    const isUnderWay = isWaiting || this.#expected.size > 0
    const idle = isUnderWay ? 'submitted' : this.state.error ? 'error' : 'ready'
    const status = open ? (open.status === 'paused' ? 'paused' : 'streaming') : idle
    this.#state.set({ status, runId: open?.runId })
  }

  clearError(): void {
    this.#state.set({ error: undefined })
    this.#look()
  }

  async send(input: ChatInput, options: SendOptions = {}): Promise<SendResult> {
    const { messageId = newId() } = options
    if (isEmpty(input)) return { messageId, error: EMPTY }
    return this.#send({ messageId, runId: newId(), input, options })
  }

  async #send(outgoing: Outgoing): Promise<SendResult> {
    const { messageId, runId, input, options } = outgoing
    const { agent, workflow } = options.agent || options.workflow ? options : this.#options
    const metadata = typeof input === 'string' ? undefined : input.metadata
    const shown = sendingOf(
      { messageId, role: 'user', parts: [...partsOf(input)], ...(metadata && { metadata }) },
      Date.now(),
    )
    this.#outgoing.set(messageId, outgoing)
    this.store.add(shown)
    this.store.flush()
    try {
      await this.#ask('/runs', runId, async () => {
        const parts = await this.#api.upload(input)
        const { whenBusy = this.#options.whenBusy ?? 'queue', data = await this.#data() } = options
        return { agent, workflow, input: { parts, metadata }, messageId, runId, whenBusy, data }
      })
      this.#outgoing.delete(messageId)
      return { messageId, runId }
    } catch (error) {
      const told = this.#report(error, 'send', { messageId })
      const { code, message, retryable } = told
      this.store.add({ ...shown, status: 'error', error: { code, message, retryable } })
      return { messageId, error: told }
    }
  }

  async #data(): Promise<Json | undefined> {
    const { data } = this.#options
    return typeof data === 'function' ? data() : data
  }

  /** Asks for a run, and follows the session from then on. */
  async #ask(path: string, runId: string, body: () => Promise<object>): Promise<void> {
    const asked = body().then(what => this.#api.insist('POST', path, what))
    this.#expected.set(runId, asked)
    this.#state.set({ error: undefined })
    this.#look()
    try {
      await asked
      this.#isKnown = true
      this.#isMade = this.store.head === 0
      if (this.#isNone || !this.#following) this.#followAnew()
      else this.#following.wake()
    } catch (error) {
      this.#expected.delete(runId)
      throw error
    } finally {
      this.#look()
    }
  }

  async stop({ runId = this.state.runId, mode }: { runId?: string; mode?: 'interrupt' | 'abort' } = {}): Promise<void> {
    // What is on its way can only be stopped once it is there.
    if (runId === undefined) await Promise.allSettled(this.#expected.values())
    if (!this.#isKnown) return
    try {
      await this.#api.insist('POST', '/stop', { runId, mode })
    } catch (error) {
      this.#report(error, 'send')
    }
  }

  regenerate(messageId?: string): Promise<SendResult> {
    return this.#again(messageId)
  }

  retry(messageId?: string): Promise<SendResult> {
    const outgoing = messageId === undefined ? [...this.#outgoing.values()].at(-1) : this.#outgoing.get(messageId)
    return outgoing ? this.#send(outgoing) : this.#again(messageId)
  }

  async #again(messageId: string | undefined): Promise<SendResult> {
    const of = messageId === undefined ? undefined : this.#runOf(messageId)
    return this.#redo('/retry', messageId ?? '', { of })
  }

  edit(messageId: string, input: ChatInput): Promise<SendResult> {
    return this.#redo('/edit', messageId, { messageId, newMessageId: newId() }, input)
  }

  async #redo(path: string, messageId: string, what: object, input?: ChatInput): Promise<SendResult> {
    const asked = newId()
    try {
      await this.#ask(path, asked, async () => {
        const metadata = typeof input === 'object' ? input.metadata : undefined
        const said = input && { input: { parts: await this.#api.upload(input), metadata }, data: await this.#data() }
        return { ...what, ...said, runId: asked }
      })
      return { messageId, runId: asked }
    } catch (error) {
      return { messageId, error: this.#report(error, 'send', { messageId }) }
    }
  }

  /** The run that answered a message, or that a message is of. */
  #runOf(messageId: string): string | undefined {
    const { requests } = this.store.ledger
    return (
      this.store.message(messageId)?.runId ?? requests.find(({ message }) => message?.messageId === messageId)?.runId
    )
  }

  async answer(answer: ChatAnswer): Promise<void> {
    const pending = this.store.pendings.find(({ id }) => id === answer.id)
    const shown = pending && 'part' in pending && !pending.part.blobs ? { input: pending.part.input ?? null } : {}
    // What was shown is what may run.
    await this.#api.answer(answer.kind === 'approval' ? { ...shown, ...answer } : answer)
  }

  async loadOlder(): Promise<void> {
    const { hasOlder, isLoadingOlder } = this.state
    const before = this.#older
    if (!hasOlder || isLoadingOlder || before === undefined) return
    this.#state.set({ isLoadingOlder: true })
    try {
      const { pageSize = 100 } = this.#options
      const path = `?messages=last:${pageSize}&before=${encodeURIComponent(before)}`
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
