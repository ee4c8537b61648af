import {
  type ConnectionStatus,
  type Failure,
  type Following,
  type Json,
  type Message,
  messageIdOf,
  type Snapshot,
  type ToolPart,
} from '@millrace/protocol'
import { type ApiOptions, type Computed, sessionPath } from '../connection/api.ts'
import type { PageConnection } from '../connection/connection.ts'
import { BACKOFF, Patience } from '../connection/patience.ts'
import { sharedConnection } from '../connection/shared.ts'
import { chatErrorOf, type ErrorSource, failureOf } from '../error.ts'
import { newId } from '../id.ts'
import { sendingOf } from '../store/local.ts'
import { Store } from '../store/store.ts'
import { type ChatCallbacks, tell } from './callbacks.ts'
import {
  type Chat,
  type ChatAnswer,
  type ChatInput,
  type ChatState,
  partsOf,
  type SaidPart,
  type SendOptions,
  type SendResult,
  type WhenBusy,
} from './chat.ts'
import { Observer } from './observer.ts'
import { StateCell } from './state.ts'
import { type ClientTools, ToolCalls } from './tools.ts'

/** How often a request is tried that did not get there. */
const ATTEMPTS = 5

export interface HttpChatOptions extends ApiOptions, ChatCallbacks {
  /** Who answers: an agent, or a workflow, by its name. */
  readonly agent?: string | undefined
  readonly workflow?: string | undefined
  /** The session; a new one, if nothing is said. */
  readonly session?: string | undefined
  /** The connection that carries it; the page's own, if nothing is said. */
  readonly connection?: PageConnection | undefined
  /** What this client can run for agents. */
  readonly tools?: ClientTools | undefined
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
export class HttpChat implements Chat {
  readonly store: Store
  readonly #options: HttpChatOptions
  readonly #connection: PageConnection
  readonly #observer: Observer
  readonly #calls: ToolCalls
  readonly #state: StateCell
  readonly #outgoing = new Map<string, Outgoing>()
  readonly #sending = new Set<string>()
  /** Runs that were asked for, and have not been seen in the log. */
  readonly #expected = new Set<string>()
  readonly #sessionId: string
  #cursor: string | undefined
  #older: string | undefined
  #following: Following | undefined
  #starts = 0
  #isKnown: boolean
  /** Why the connection was lost while a run was open. */
  #lost: string | undefined

  constructor(options: HttpChatOptions) {
    const { snapshot, session, streamFlushInterval, tools = {} } = options
    this.#options = options
    this.#connection = options.connection ?? sharedConnection(options)
    this.store = new Store({ flushInterval: streamFlushInterval, view: snapshot?.view })
    this.#observer = new Observer(this.store)
    this.#observer.callbacks = options
    this.#calls = new ToolCalls({ answer: answer => this.#answer(answer), inputOf: part => this.#inputOf(part) })
    this.#calls.tools = tools
    this.#sessionId = session ?? newId()
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
    this.#cursor = this.#following?.cursor ?? this.#cursor
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
          this.store.restore(snapshot.view)
          this.#begin(snapshot)
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

  #begin({ cursor, page, title, view }: Snapshot): void {
    this.#cursor = cursor
    this.#older = page?.before
    this.#state.set({ title, hasOlder: page?.hasMore ?? false })
    this.#observer.begin(view)
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
    if (failure.code === 'session_unknown' && this.store.head === 0) return
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
    const isUnderWay = isWaiting || this.#sending.size + this.#expected.size > 0
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
    try {
      await this.#ask('/runs', messageId, async () => {
        const parts = await this.#uploaded(input)
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

  /** The parts of what a person says; files are given to the server first. */
  async #uploaded(input: ChatInput): Promise<readonly SaidPart[]> {
    const parts = [...partsOf(input)]
    if (typeof input === 'string') return parts
    for (const file of input.files ?? []) {
      const headers = {
        'content-type': file.type || 'application/octet-stream',
        'x-filename': encodeURIComponent(file.name),
      }
      const path = sessionPath(this.#sessionId, '/uploads')
      const reply = await this.#connection.api.request('POST', path, { body: file, headers })
      const { url, mediaType, filename } = (await reply.json()) as { url: string; mediaType: string; filename?: string }
      parts.push({ type: 'file', url, mediaType, ...(filename !== undefined && { filename }) })
    }
    return parts
  }

  /** Asks for a run, and follows the session from then on. */
  async #ask(path: string, name: string, body: () => Promise<object>): Promise<string> {
    this.#sending.add(name)
    this.#state.set({ error: undefined })
    this.#look()
    try {
      const { runId } = await this.#post<{ runId: string }>(path, await body())
      this.#expected.add(runId)
      this.#isKnown = true
      // Of a session that was just made, everything is news.
      if (this.store.head === 0) this.#cursor ??= '0'
      if (this.#following) this.#following.wake()
      else this.#follow()
      return runId
    } finally {
      this.#sending.delete(name)
      this.#look()
    }
  }

  /** Asks until it gets there: what is asked has a name, so that twice is once. */
  async #post<T>(path: string, body: object): Promise<T> {
    const patience = new Patience(BACKOFF)
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#connection.api.ask<T>('POST', sessionPath(this.#sessionId, path), body)
      } catch (error) {
        const { retryable, retryAfter } = failureOf(error)
        if (!retryable || attempt === ATTEMPTS) throw error
        await patience.wait(retryAfter)
      }
    }
  }

  async stop({ runId = this.state.runId, mode }: { runId?: string; mode?: 'interrupt' | 'abort' } = {}): Promise<void> {
    try {
      await this.#post('/stop', { runId, mode })
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
      const runId = await this.#ask(path, asked, async () => {
        const metadata = typeof input === 'object' ? input.metadata : undefined
        const said = input && { input: { parts: await this.#uploaded(input), metadata }, data: await this.#data() }
        return { ...what, ...said, runId: asked }
      })
      return { messageId, runId }
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
    await this.#answer(answer.kind === 'approval' ? { ...shown, ...answer } : answer)
  }

  #answer(answer: object): Promise<unknown> {
    return this.#post('/answers', answer)
  }

  async #inputOf({ input = null, blobs }: ToolPart): Promise<Json> {
    const hash = blobs?.['/input']?.hash
    return hash === undefined ? input : this.#connection.api.ask('GET', sessionPath(this.#sessionId, `/blobs/${hash}`))
  }

  async loadOlder(): Promise<void> {
    const { hasOlder, isLoadingOlder } = this.state
    if (!hasOlder || isLoadingOlder || this.#older === undefined) return
    this.#state.set({ isLoadingOlder: true })
    try {
      const { pageSize = 100 } = this.#options
      const path = `?messages=last:${pageSize}&before=${encodeURIComponent(this.#older)}`
      type Older = { messages: Message[]; page: NonNullable<Snapshot['page']> }
      const { messages, page } = await this.#connection.api.ask<Older>('GET', sessionPath(this.#sessionId, path))
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
