import type { JsonObject, Message } from '@millrace/protocol'
import { type ChatCallbacks, type ChatFinish, tell } from '../chat/callbacks.ts'
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
} from '../chat/chat.ts'
import { StateCell } from '../chat/state.ts'
import type { ClientTools } from '../chat/tools.ts'
import { BACKOFF, type Backoff } from '../connection/patience.ts'
import { type ChatError, type ErrorSource, failureOf, RequestError } from '../error.ts'
import { sendingOf } from '../store/local.ts'
import { Store } from '../store/store.ts'
import { Conversation } from './conversation.ts'
import type { Reply } from './entries.ts'
import { Reading } from './reading.ts'
import { givenId, toChatMessage } from './shape.ts'
import type { ChatAdapter, ChatAttachment, ChatMessage, ChatMessageChunk, ChatStream } from './types.ts'

/** How many messages may wait until the reply before them is over. */
const QUEUE = 100

export interface AdapterChatOptions<Cursor = string> extends ChatCallbacks {
  readonly adapter: ChatAdapter<Cursor>
  readonly conversationId?: string | undefined
  /** What to begin with. */
  readonly initialMessages?: readonly ChatMessage[] | undefined
  readonly streamFlushInterval?: number | undefined
  /** What becomes of a message while a reply is under way; `queue`, if nothing is said. */
  readonly whenBusy?: WhenBusy | undefined
  /** How long to wait before a reply that broke off is asked for again. */
  readonly backoff?: Backoff | undefined
}

/** What a person says, on its way. */
interface Outgoing {
  readonly messageId: string
  readonly parts: readonly SaidPart[]
  readonly metadata?: JsonObject
  readonly attachments: ChatAttachment[]
}

/** A message that waits for its turn, and who wants to know what became of it. */
interface Waiting {
  readonly outgoing: Outgoing
  readonly done: (result: SendResult | Promise<SendResult>) => void
}

/** One message and the reply to it. */
interface Turn {
  readonly runId: string
  readonly messageId: string
  readonly reading: Reading
  reply?: Reply
  /** The id that the adapter gave the reply. */
  given?: string
  finishReason?: string
  isAborted: boolean
  /** What a reply that broke off is to be told of as. */
  error?: ChatError
  /** What became of asking, as soon as it is known. */
  readonly asked: (result: SendResult) => void
}

/** What to ask the adapter for, and what to do where it refuses. */
interface Asking {
  readonly code: string
  readonly open: (signal: AbortSignal) => Promise<ChatStream>
  readonly refused: (error: ChatError) => void
}

/**
 * A conversation over an adapter. What the callbacks are told, and in which order: `onData` and `onToolCall` as things come, each once;
 * of a reply that broke off and could be had again, `onError` once, with `details.recovered`, as soon as it goes on; of one that
 * could not, `onError` and then `onFinish` with `isDisconnect`; and in every turn that began `onFinish` exactly once, at its end. A message
 * that could not be sent began no turn: of it there is only `onError`.
 */
export class AdapterChat<Cursor = string> implements Chat {
  readonly store: Store
  callbacks: ChatCallbacks
  /** An adapter has no way to tell of tools that a client runs, nor to hear of them. */
  tools: ClientTools = {}
  readonly #options: AdapterChatOptions<Cursor>
  readonly #conversation: Conversation
  readonly #state: StateCell
  readonly #queue: Waiting[] = []
  /** What was said with what files, as long as it may have to be said again. */
  readonly #attachments = new Map<string, ChatAttachment[]>()
  #turn: Turn | undefined
  #cursor: Cursor | undefined
  #starts = 0
  #isLoaded = false

  constructor(options: AdapterChatOptions<Cursor>) {
    const { streamFlushInterval, initialMessages = [], conversationId } = options
    this.#options = options
    this.callbacks = options
    this.store = new Store({ flushInterval: streamFlushInterval })
    this.#conversation = new Conversation(this.store, () => this.callbacks)
    this.#conversation.load(initialMessages)
    this.#state = new StateCell({ sessionId: conversationId })
  }

  get state(): ChatState {
    return this.#state.value
  }

  subscribe(listener: () => void): () => void {
    return this.#state.subscribe(listener)
  }

  start(): () => void {
    if (this.#starts++ === 0) this.#state.set({ connection: { status: 'live', reason: 'the adapter is at hand' } })
    if (!this.#isLoaded && this.#options.adapter.listMessages) {
      this.#isLoaded = true
      void this.#load()
    }
    let isStarted = true
    return () => {
      if (!isStarted) return
      isStarted = false
      if (--this.#starts > 0) return
      void this.stop()
      this.#state.set({ connection: { status: 'idle', reason: 'nobody follows' } })
    }
  }

  clearError(): void {
    this.#state.set({ error: undefined, ...(!this.#turn && { status: 'ready' }) })
  }

  async send(input: ChatInput, options: SendOptions = {}): Promise<SendResult> {
    const { messageId = crypto.randomUUID(), whenBusy = this.#options.whenBusy ?? 'queue' } = options
    if (this.#conversation.find(messageId))
      return this.#refuse(messageId, 'SEND_ERROR', `There is a message ${messageId}.`)
    const outgoing = outgoingOf(messageId, input)
    if (!this.#turn && this.#queue.length === 0) return this.#say(outgoing)
    if (whenBusy === 'reject') return this.#refuse(messageId, 'busy', 'A reply is under way.')
    if (this.#queue.length >= QUEUE) return this.#refuse(messageId, 'busy', `${QUEUE} messages wait already.`)
    this.store.add(sendingOf({ ...outgoing, role: 'user', parts: [...outgoing.parts] }, Date.now()))
    if (whenBusy === 'queue') return new Promise(done => this.#queue.push({ outgoing, done }))
    await this.#halt()
    return this.#say(outgoing)
  }

  #refuse(messageId: string, code: string, message: string): SendResult {
    return { messageId, error: { code, message, source: 'send', recoverable: true, retryable: true } }
  }

  #say(outgoing: Outgoing): Promise<SendResult> {
    const { messageId, parts, metadata, attachments } = outgoing
    const runId = crypto.randomUUID()
    if (attachments.length > 0) this.#attachments.set(messageId, attachments)
    this.#conversation.say({ messageId, role: 'user', parts: [...parts], ...(metadata && { metadata }) }, runId)
    return this.#begin(messageId, runId, this.#sending(messageId))
  }

  /** Asks for the reply to a message that is shown. */
  #sending(messageId: string): Asking {
    const { adapter, conversationId } = this.#options
    const attachments = this.#attachments.get(messageId)
    const open = (signal: AbortSignal) => {
      const { message, messages } = this.#upTo(messageId)
      const { metadata } = message
      return adapter.sendMessage({
        conversationId,
        message,
        messages,
        ...(attachments && { attachments }),
        ...(metadata && { metadata }),
        signal,
      })
    }
    return { code: 'SEND_ERROR', open, refused: error => this.#conversation.mark(messageId, 'error', error) }
  }

  /** A message, and all before it, as adapters know them. */
  #upTo(messageId: string): { readonly message: ChatMessage; readonly messages: ChatMessage[] } {
    const all = this.#conversation.messages
    const messages = all.slice(0, all.findIndex(({ id }) => id === messageId) + 1).map(toChatMessage)
    return { message: messages.at(-1) as ChatMessage, messages }
  }

  #begin(messageId: string, runId: string, { code, open, refused }: Asking): Promise<SendResult> {
    const { adapter, conversationId, backoff = BACKOFF } = this.#options
    return new Promise(asked => {
      const turn: Turn = {
        runId,
        messageId,
        asked,
        isAborted: false,
        reading: new Reading({
          open,
          reconnect: adapter.reconnectToStream && (signal => this.#reconnect(turn, conversationId, signal)),
          backoff,
          opened: () => {
            this.#state.set({ connection: { status: 'live', reason: 'a reply is under way' } })
            asked({ messageId, runId })
          },
          take: chunk => this.#take(turn, chunk),
          broke: error => this.#broke(turn, error),
          recovered: () => this.#recovered(turn),
        }),
      }
      this.#turn = turn
      this.#state.set({ status: 'submitted', runId, error: undefined })
      turn.reading.run().then(ending => {
        // One that was stopped has been told of.
        if (this.#turn !== turn) return
        if (ending.how === 'refused') {
          const error = this.#errorOf(ending.error, code, 'send', { messageId })
          refused(error)
          this.#over(error)
          asked({ messageId, error })
          tell(this.callbacks.onError, error)
        } else this.#finish(turn, ending.how === 'broken')
        this.#next()
      })
    })
  }

  async #reconnect(turn: Turn, conversationId: string | undefined, signal: AbortSignal): Promise<ChatStream | null> {
    const messageId = turn.reply?.id
    const stream = await this.#options.adapter.reconnectToStream?.({ conversationId, messageId, signal })
    return stream ?? null
  }

  #take(turn: Turn, chunk: ChatMessageChunk): void {
    if (!turn.reply || chunk.type === 'start') this.#open(turn, chunk)
    const { reply } = turn
    if (!reply || chunk.type === 'start') return
    if (chunk.type === 'finish') {
      if (chunk.finishReason !== undefined) turn.finishReason = chunk.finishReason
    } else if (chunk.type === 'abort') turn.isAborted = true
    else reply.write(chunk)
    if (chunk.type.startsWith('tool-')) this.#look()
  }

  /** A reply begins, or goes on. */
  #open(turn: Turn, chunk: ChatMessageChunk): void {
    const { messageId: id, author } = chunk as Extract<ChatMessageChunk, { type: 'start' }>
    const { reply, given } = turn
    const isSame = reply && (id === undefined || id === given || reply.isUnnamed)
    if (!isSame) {
      // One message after another in one stream: the first is whole.
      if (reply) this.#end(reply, 'sent')
      turn.reply = this.#conversation.reply(id, turn.runId)
    } else if (id !== undefined && reply.isUnnamed) this.#conversation.rename(reply, id)
    if (id !== undefined) turn.given = id
    turn.reply?.begin(author)
    this.#conversation.mark(turn.messageId, 'sent')
    this.#look()
  }

  #look(): void {
    const { reply } = this.#turn ?? {}
    if (reply) this.#state.set({ status: reply.isWaiting ? 'paused' : 'streaming' })
  }

  #broke(turn: Turn, cause: unknown): void {
    const messageId = turn.reply?.id
    const error = this.#errorOf(cause, 'STREAM_ERROR', 'stream', messageId === undefined ? {} : { messageId })
    turn.error = error
    if (turn.reply) this.#conversation.mark(turn.reply.id, 'error', error)
    this.#state.set({ status: 'error', error, connection: { status: 'offline', reason: error.message } })
  }

  #recovered(turn: Turn): void {
    const { error, reply } = turn
    if (!error) return
    delete turn.error
    if (reply) this.#conversation.mark(reply.id, 'streaming')
    this.#state.set({ status: 'streaming', error: undefined, connection: { status: 'live', reason: 'it goes on' } })
    tell(this.callbacks.onError, { ...error, details: { ...(error.details as object), recovered: true } })
  }

  /** A reply came to its end, or broke off for good. */
  #finish(turn: Turn, isDisconnect: boolean): void {
    const { reply, finishReason, isAborted, error, messageId } = turn
    if (reply) this.#end(reply, isDisconnect ? 'error' : isAborted ? 'cancelled' : 'sent', error, finishReason)
    if (isAborted) this.#conversation.mark(messageId, 'cancelled')
    // Where no reply began, nobody may have heard it.
    else if (!reply) this.#conversation.mark(messageId, 'error', error)
    this.#over(error)
    if (error) tell(this.callbacks.onError, error)
    this.#told(turn, { isAbort: isAborted, isDisconnect, isError: isDisconnect })
  }

  #end(reply: Reply, status: Message['status'], error?: ChatError, finishReason?: string): void {
    this.#conversation.mark(reply.id, status, error)
    reply.end(status === 'sent', finishReason)
  }

  /** No turn is open any more. */
  #over(error?: ChatError): void {
    this.#turn = undefined
    this.#state.set({ status: error ? 'error' : 'ready', runId: undefined, error })
  }

  #told({ runId, reply, finishReason }: Turn, how: Pick<ChatFinish, 'isAbort' | 'isDisconnect' | 'isError'>): void {
    const { messages } = this.#conversation
    const message = reply && messages.find(({ id }) => id === reply.id)
    const reason = finishReason !== undefined && { finishReason }
    tell(this.callbacks.onFinish, { runId, ...(message && { message }), messages, ...how, ...reason })
  }

  #next(): void {
    if (this.#turn) return
    const waiting = this.#queue.shift()
    waiting?.done(this.#say(waiting.outgoing))
  }

  async stop({ runId }: { readonly runId?: string } = {}): Promise<void> {
    if (runId !== undefined && runId !== this.#turn?.runId) return
    await this.#halt()
    this.#next()
  }

  /** Stops the turn that is open: at once for who looks on, then for the adapter. */
  async #halt(): Promise<void> {
    while (this.#turn) {
      const turn = this.#turn
      const { reply, reading, messageId, runId, asked } = turn
      reading.stop()
      if (reply) this.#end(reply, 'cancelled')
      this.#conversation.mark(messageId, 'cancelled')
      this.#over()
      asked({ messageId, runId })
      this.#told(turn, { isAbort: true, isDisconnect: false, isError: false })
      try {
        await this.#options.adapter.stop?.()
      } catch (error) {
        this.#report(error, 'STOP_ERROR', 'adapter', { messageId })
      }
    }
  }

  regenerate(messageId?: string): Promise<SendResult> {
    return this.#again(messageId)
  }

  async #again(messageId: string | undefined): Promise<SendResult> {
    await this.#halt()
    const all = this.#conversation.messages
    const from = messageId === undefined ? all.length - 1 : all.findIndex(({ id }) => id === messageId)
    const at = all.findLastIndex(({ role }, i) => role === 'user' && i <= from)
    const anchor = all[at]
    if (!anchor) return this.#refuse(messageId ?? '', 'REGENERATE_ERROR', 'There is no message to answer anew.')
    const replied = all.slice(at + 1).find(({ role, id }) => role === 'assistant' && (from <= at || id === messageId))
    const kept = new Set(all.slice(0, at + 1).map(({ id }) => id))
    const undo = this.#conversation.keep(id => kept.has(id))
    const { adapter, conversationId } = this.#options
    const sending = this.#sending(anchor.id)
    const regenerate = (signal: AbortSignal) =>
      adapter.regenerate && replied
        ? adapter.regenerate({ conversationId, messageId: replied.id, ...this.#upTo(anchor.id), signal })
        : sending.open(signal)
    this.#conversation.mark(anchor.id, 'sending')
    return this.#begin(anchor.id, crypto.randomUUID(), {
      code: 'REGENERATE_ERROR',
      open: regenerate,
      refused: () => {
        undo()
        this.#conversation.mark(anchor.id, anchor.status)
      },
    })
  }

  async retry(messageId?: string): Promise<SendResult> {
    const failed = (message: Message) => message.role === 'user' && message.status === 'error'
    const { messages } = this.#conversation
    const message = messageId === undefined ? messages.findLast(failed) : messages.find(({ id }) => id === messageId)
    if (!message || !failed(message)) return this.#again(messageId)
    await this.#halt()
    const all = this.#conversation.messages
    const at = all.findIndex(({ id }) => id === message.id)
    const rest = all.slice(at + 1)
    // What came of it goes; what was said since then stays, before it.
    const replies = rest.slice(0, rest.findIndex(({ role }) => role === 'user') >>> 0).map(({ id }) => id)
    if (rest.length > 0) this.#conversation.keep(id => !replies.includes(id), message.id)
    this.#conversation.mark(message.id, 'sending')
    return this.#begin(message.id, crypto.randomUUID(), this.#sending(message.id))
  }

  async edit(messageId: string, input: ChatInput): Promise<SendResult> {
    await this.#halt()
    const all = this.#conversation.messages
    const at = all.findIndex(({ id }) => id === messageId)
    if (at < 0) return this.#refuse(messageId, 'SEND_ERROR', `There is no message ${messageId}.`)
    const kept = new Set(all.slice(0, at).map(({ id }) => id))
    this.#conversation.keep(id => kept.has(id))
    return this.#say(outgoingOf(crypto.randomUUID(), input))
  }

  async answer(answer: ChatAnswer): Promise<void> {
    const { adapter } = this.#options
    if (answer.kind !== 'approval' || !adapter.addToolApprovalResponse)
      throw new RequestError({
        code: 'unsupported',
        message: `The adapter takes no answer of the kind ${answer.kind}.`,
      })
    const { id, approved, reason } = answer
    this.store.flush()
    const isIt = (one: string) => one === id || givenId(one) === id
    const pending = this.store.pendings.findLast(
      one => one.kind === 'approval' && (isIt(one.id) || isIt(one.part.toolCallId)),
    )
    const reply = pending?.kind === 'approval' && this.#conversation.reply(pending.messageId, '')
    const undo = reply && reply.answer(pending.part.toolCallId, approved, reason)
    if (!undo) throw new RequestError({ code: 'unknown', message: `Nothing waits for an approval ${id}.` })
    this.#look()
    try {
      await adapter.addToolApprovalResponse({ id: givenId(id), approved, ...(reason !== undefined && { reason }) })
    } catch (error) {
      undo()
      this.#look()
      this.#report(error, 'SEND_ERROR', 'adapter', { id })
      throw failureOf(error)
    }
  }

  async loadOlder(): Promise<void> {
    const { hasOlder, isLoadingOlder } = this.state
    if (hasOlder && !isLoadingOlder) await this.#load()
  }

  /** Shows the messages before those that are shown, or the last. */
  async #load(): Promise<void> {
    const { adapter, conversationId } = this.#options
    const cursor = this.#cursor
    this.#state.set({ isLoadingOlder: true })
    try {
      const page = await adapter.listMessages?.({ conversationId, cursor, direction: 'backward' })
      if (!page) return
      this.#conversation.load(page.messages)
      this.#cursor = page.cursor
      this.#state.set({ hasOlder: page.hasMore ?? page.cursor !== undefined })
    } catch (error) {
      this.#report(error, 'HISTORY_ERROR', 'history')
    } finally {
      this.#state.set({ isLoadingOlder: false })
    }
  }

  #report(cause: unknown, code: string, source: ErrorSource, details?: object): void {
    const error = this.#errorOf(cause, code, source, details)
    this.#state.set({ error, ...(!this.#turn && { status: 'error' }) })
    tell(this.callbacks.onError, error)
  }

  #errorOf(cause: unknown, code: string, source: ErrorSource, details?: object): ChatError {
    const { message, retryable, code: why, status } = failureOf(cause)
    const more = { ...details, ...(cause instanceof RequestError && { cause: why, status }) }
    return { code, message, source, recoverable: true, retryable, details: more }
  }
}

/** What a person says, with its files to be seen at once. */
function outgoingOf(messageId: string, input: ChatInput): Outgoing {
  const { files = [], metadata } = typeof input === 'string' ? {} : input
  const attachments = [...files].map(file => ({ localId: crypto.randomUUID(), file }))
  const shown = attachments.map(({ file }) => ({
    type: 'file' as const,
    mediaType: file.type || 'application/octet-stream',
    url: URL.createObjectURL(file),
    filename: file.name,
  }))
  return { messageId, parts: [...partsOf(input), ...shown], ...(metadata && { metadata }), attachments }
}
