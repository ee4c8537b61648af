import { newId } from '@millrace/dialects'
import { foreignId } from '@millrace/dialects/internal'
import type { JsonObject, Message } from '@millrace/protocol'
import type { Backoff } from '@millrace/protocol/retry'
import type { ChatCallbacks } from '../chat/callbacks.ts'
import {
  type Chat,
  type ChatAnswer,
  type ChatInput,
  type ChatState,
  EMPTY_MESSAGE,
  isEmpty,
  partsOf,
  type SendOptions,
  type SendResult,
  type UserPart,
  type WhenBusy,
} from '../chat/chat.ts'
import { ObservableState } from '../chat/observable-state.ts'
import { failureOf, RequestError } from '../error/chat-error.ts'
import { toSendingMessage } from '../store/local-messages.ts'
import { Store } from '../store/store.ts'
import type { ClientTools } from '../types/index.ts'
import { toChatMessage } from './chat-message.ts'
import { Conversation } from './conversation.ts'
import { IDLE_CONNECTION, type TurnRequest, Turns } from './turns.ts'
import type { ChatAdapter, ChatAttachment, ChatMessage } from './types.ts'

/** Maximum number of queued messages. */
const MAX_QUEUED = 100

/** Options of `createAdapterChat`. */
export interface AdapterChatOptions<Cursor = string> extends ChatCallbacks {
  /** The adapter to the server. */
  readonly adapter: ChatAdapter<Cursor>
  /** Id of the conversation, passed to the adapter. @default none */
  readonly conversationId?: string | undefined
  /** Messages to show before the first load. @default [] */
  readonly initialMessages?: readonly ChatMessage[] | undefined
  /** Minimum interval between notifications, in ms. @default 16 */
  readonly streamFlushInterval?: number | undefined
  /** What to do with a message while a reply is streaming. @default 'queue' */
  readonly whenBusy?: WhenBusy | undefined
  /** Delays before reconnecting to a dropped reply, in ms. @default { firstMs: 250, longestMs: 10_000 } */
  readonly backoff?: Backoff | undefined
}

/** A user message to send. */
interface OutgoingMessage {
  readonly messageId: string
  readonly parts: readonly UserPart[]
  readonly metadata?: JsonObject
  readonly attachments: ChatAttachment[]
}

/** Revokes the object URLs of files that were garbage-collected. */
const objectUrls = new FinalizationRegistry<string>(url => URL.revokeObjectURL(url))

/** A queued message, and the resolver of its `sendMessage`. */
interface QueuedMessage {
  readonly outgoing: OutgoingMessage
  readonly resolve: (result: SendResult | Promise<SendResult>) => void
}

/** A chat over an adapter. */
export class AdapterChat<Cursor = string> implements Chat {
  readonly store: Store
  callbacks: ChatCallbacks
  /** Not used: the adapter interface has no client tools. */
  tools: ClientTools = {}
  readonly #options: AdapterChatOptions<Cursor>
  readonly #conversation: Conversation
  readonly #state: ObservableState
  readonly #turns: Turns
  readonly #queue: QueuedMessage[] = []
  /** Files of user messages by message id, to send them again on a retry. */
  readonly #attachments = new Map<string, ChatAttachment[]>()
  #cursor: Cursor | undefined
  #startCount = 0
  /** Whether the newest page of history was loaded. A failed load is repeated. */
  #isLoaded = false

  constructor(options: AdapterChatOptions<Cursor>) {
    const { adapter, streamFlushInterval, initialMessages = [], conversationId, backoff } = options
    this.#options = options
    this.callbacks = options
    this.store = new Store({ flushIntervalMs: streamFlushInterval })
    this.#conversation = new Conversation(this.store, () => this.callbacks)
    this.#conversation.load(initialMessages)
    // The first render shows the initial messages: on a server there is no second one.
    this.store.flush()
    this.#state = new ObservableState({ sessionId: conversationId })
    this.#turns = new Turns({
      adapter,
      conversationId,
      backoff,
      conversation: this.#conversation,
      state: this.#state,
      callbacks: () => this.callbacks,
      onEnd: () => this.#sendNext(),
    })
  }

  get state(): ChatState {
    return this.#state.value
  }

  subscribe(listener: () => void): () => void {
    return this.#state.subscribe(listener)
  }

  start(): () => void {
    if (this.#startCount++ === 0) this.#state.set({ connection: IDLE_CONNECTION })
    if (!this.#isLoaded) void this.#load()
    let isStarted = true
    return () => {
      if (!isStarted) return
      isStarted = false
      if (--this.#startCount > 0) return
      this.#failQueued()
      void this.#turns.stop()
      this.#state.set({ connection: { status: 'idle', reason: 'no subscribers' } })
    }
  }

  /** Replaces the messages. The open turn and queued messages stay behind them. */
  setMessages(messages: readonly ChatMessage[]): void {
    this.#conversation.replace(messages, this.#turns.messageId)
    this.store.flush()
  }

  /** Marks the queued messages as not sent. */
  #failQueued(): void {
    for (const { outgoing, resolve } of this.#queue.splice(0)) {
      const { messageId } = outgoing
      const refused = this.#refuse(
        messageId,
        'SEND_ERROR',
        'The chat was closed before the message was sent: send it in a new chat.',
      )
      this.#show(outgoing, newId())
      this.#conversation.mark(messageId, 'error', refused.error)
      resolve(refused)
    }
  }

  clearError(): void {
    this.#state.set({ error: undefined, ...(!this.#turns.runId && { status: 'ready' }) })
  }

  async sendMessage(input: ChatInput, options: SendOptions = {}): Promise<SendResult> {
    const { messageId = newId(), whenBusy = this.#options.whenBusy ?? 'queue' } = options
    if (isEmpty(input)) return { messageId, error: EMPTY_MESSAGE }
    const isIdInUse =
      this.#conversation.has(messageId) || this.#queue.some(({ outgoing }) => outgoing.messageId === messageId)
    if (isIdInUse)
      return this.#refuse(
        messageId,
        'SEND_ERROR',
        `Expected a new message id, found ${messageId}, which is in use: choose another, or omit it.`,
      )
    const isFree = !this.#turns.runId && this.#queue.length === 0
    if (!isFree && whenBusy === 'reject')
      return this.#refuse(messageId, 'busy', 'Another reply is in progress: wait for it, or set whenBusy.')
    if (this.#queue.length >= MAX_QUEUED)
      return this.#refuse(messageId, 'busy', `Expected at most ${MAX_QUEUED} queued messages: wait for a reply first.`)
    const outgoing = outgoingOf(messageId, input)
    if (isFree) return this.#send(outgoing)
    this.store.add(toSendingMessage({ ...outgoing, role: 'user', parts: [...outgoing.parts] }, Date.now()))
    if (whenBusy === 'queue') return new Promise(resolve => this.#queue.push({ outgoing, resolve }))
    while (this.#turns.runId) await this.#turns.stop()
    return this.#send(outgoing)
  }

  #refuse(messageId: string, code: string, message: string): SendResult {
    return { messageId, error: { code, message, source: 'send', recoverable: true, retryable: true } }
  }

  #send(outgoing: OutgoingMessage): Promise<SendResult> {
    const { messageId } = outgoing
    const runId = newId()
    this.#show(outgoing, runId)
    return this.#turns.begin(messageId, runId, this.#requestFor(messageId))
  }

  #show({ messageId, parts, metadata, attachments }: OutgoingMessage, runId: string): void {
    if (attachments.length > 0) this.#attachments.set(messageId, attachments)
    this.#conversation.addUserMessage(
      { messageId, role: 'user', parts: [...parts], ...(metadata && { metadata }) },
      runId,
    )
  }

  /** A request for the reply to a shown message. */
  #requestFor(messageId: string): TurnRequest {
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
    return { code: 'SEND_ERROR', open, onRefused: error => this.#conversation.mark(messageId, 'error', error) }
  }

  /** A message and all before it, in the adapter's format. */
  #upTo(messageId: string): { readonly message: ChatMessage; readonly messages: ChatMessage[] } {
    const all = this.#conversation.messages
    const messages = all.slice(0, all.findIndex(({ id }) => id === messageId) + 1).map(toChatMessage)
    return { message: messages.at(-1) as ChatMessage, messages }
  }

  /** Sends the next queued message, unless a turn is open. */
  #sendNext(): void {
    if (this.#turns.runId) return
    const queued = this.#queue.shift()
    queued?.resolve(this.#send(queued.outgoing))
  }

  async stop({ runId }: { readonly runId?: string } = {}): Promise<void> {
    if (runId !== undefined && runId !== this.#turns.runId) return
    await this.#turns.stop()
    this.#sendNext()
  }

  regenerate(messageId?: string): Promise<SendResult> {
    return this.#regenerateReply(messageId)
  }

  /** Generates the reply to a message again. Without an id, to the last message. */
  async #regenerateReply(messageId: string | undefined): Promise<SendResult> {
    while (this.#turns.runId) await this.#turns.stop()
    const all = this.#conversation.sentMessages
    const from = messageId === undefined ? all.length - 1 : all.findIndex(({ id }) => id === messageId)
    const at = all.findLastIndex(({ role }, i) => role === 'user' && i <= from)
    const anchor = all[at]
    if (!anchor)
      return this.#refuse(
        messageId ?? '',
        'REGENERATE_ERROR',
        'Expected a user message to answer again, found none: send a message first.',
      )
    const oldReply = all.slice(at + 1).find(({ role, id }) => role === 'assistant' && (from <= at || id === messageId))
    const keptIds = new Set(all.slice(0, at + 1).map(({ id }) => id))
    const undo = this.#conversation.keep(id => keptIds.has(id))
    const { adapter, conversationId } = this.#options
    const request = this.#requestFor(anchor.id)
    const regenerate = (signal: AbortSignal) =>
      adapter.regenerate && oldReply
        ? adapter.regenerate({ conversationId, messageId: oldReply.id, ...this.#upTo(anchor.id), signal })
        : request.open(signal)
    this.#conversation.mark(anchor.id, 'sending')
    return this.#turns.begin(anchor.id, newId(), {
      code: 'REGENERATE_ERROR',
      open: regenerate,
      onRefused: () => {
        undo()
        this.#conversation.mark(anchor.id, anchor.status)
      },
    })
  }

  async retry(messageId?: string): Promise<SendResult> {
    const isUnsent = (message: Message) => message.role === 'user' && message.status === 'error'
    while (this.#turns.runId) await this.#turns.stop()
    const all = this.#conversation.sentMessages
    const isReplyLost = all.at(-1)?.status === 'error' && all.at(-1)?.role === 'assistant'
    const lastUnsent = isReplyLost ? undefined : all.findLast(isUnsent)
    const message = messageId === undefined ? lastUnsent : all.find(({ id }) => id === messageId)
    if (!message || !isUnsent(message)) return this.#regenerateReply(messageId)
    const at = all.findIndex(({ id }) => id === message.id)
    const rest = all.slice(at + 1)
    // Removes its replies, and moves it behind the later messages.
    const replies = rest.slice(0, rest.findIndex(({ role }) => role === 'user') >>> 0).map(({ id }) => id)
    if (rest.length > 0) this.#conversation.keep(id => !replies.includes(id), message.id)
    this.#conversation.mark(message.id, 'sending')
    return this.#turns.begin(message.id, newId(), this.#requestFor(message.id))
  }

  async edit(messageId: string, input: ChatInput): Promise<SendResult> {
    if (isEmpty(input)) return { messageId, error: EMPTY_MESSAGE }
    while (this.#turns.runId) await this.#turns.stop()
    const all = this.#conversation.sentMessages
    const at = all.findIndex(({ id }) => id === messageId)
    if (at < 0)
      return this.#refuse(messageId, 'SEND_ERROR', `Expected the id of a message in this chat, found ${messageId}.`)
    const keptIds = new Set(all.slice(0, at).map(({ id }) => id))
    this.#conversation.keep(id => keptIds.has(id))
    for (const id of this.#attachments.keys()) if (!keptIds.has(id)) this.#attachments.delete(id)
    return this.#send(outgoingOf(newId(), input))
  }

  async answer(answer: ChatAnswer): Promise<void> {
    const { adapter } = this.#options
    if (answer.kind !== 'approval' || !adapter.addToolApprovalResponse) {
      const needs = answer.kind === 'approval' ? ': add addToolApprovalResponse to it.' : '.'
      const error = new RequestError({
        code: 'unsupported',
        message: `The adapter does not support answers of kind ${answer.kind}${needs}`,
      })
      // Callers that ignore the promise learn of the error by `onError`.
      this.#turns.report(error, 'SEND_ERROR', 'adapter', { id: answer.id })
      throw error
    }
    const { id, approved, reason } = answer
    this.store.flush()
    const matches = (other: string) => other === id || foreignId(other) === id
    const pending = this.store.pendings.findLast(
      pending => pending.kind === 'approval' && (matches(pending.id) || matches(pending.part.toolCallId)),
    )
    const reply = pending?.kind === 'approval' && this.#conversation.reply(pending.messageId, '')
    const undo = reply ? reply.answer(pending.part.toolCallId, approved, reason) : undefined
    if (!undo)
      throw new RequestError({ code: 'unknown', message: `Expected the id of a pending approval, found ${id}.` })
    this.#turns.updateStatus()
    try {
      await adapter.addToolApprovalResponse({ id: foreignId(id), approved, ...(reason !== undefined && { reason }) })
    } catch (error) {
      undo()
      this.#turns.updateStatus()
      this.#turns.report(error, 'SEND_ERROR', 'adapter', { id })
      throw failureOf(error)
    }
  }

  async loadOlder(): Promise<void> {
    if (this.state.hasOlder || !this.#isLoaded) await this.#load()
  }

  /** Loads the page before the loaded ones, or the newest page. */
  async #load(): Promise<void> {
    const { adapter, conversationId } = this.#options
    const cursor = this.#cursor
    if (!adapter.listMessages || this.state.isLoadingOlder) return
    this.#state.set({ isLoadingOlder: true })
    try {
      const page = await adapter.listMessages({ conversationId, cursor, direction: 'backward' })
      this.#conversation.load(page.messages)
      this.#isLoaded = true
      this.#cursor = page.cursor
      this.#state.set({ hasOlder: page.hasMore ?? page.cursor !== undefined })
    } catch (error) {
      this.#turns.report(error, 'HISTORY_ERROR', 'history')
    } finally {
      this.#state.set({ isLoadingOlder: false })
    }
  }
}

/** A message to send. Its files get object URLs, so that the view shows them at once. */
function outgoingOf(messageId: string, input: ChatInput): OutgoingMessage {
  const { files = [], metadata } = typeof input === 'string' ? {} : input
  const attachments = [...files].map(file => ({ localId: newId(), file }))
  const fileParts = attachments.map(({ file }) => {
    const url = URL.createObjectURL(file)
    objectUrls.register(attachments, url)
    return {
      type: 'file' as const,
      mediaType: file.type || 'application/octet-stream',
      url,
      filename: file.name,
    }
  })
  return { messageId, parts: [...partsOf(input), ...fileParts], ...(metadata && { metadata }), attachments }
}

/** Creates a chat over a `ChatAdapter`, without a Millrace server. */
export const createAdapterChat = <Cursor = string>(options: AdapterChatOptions<Cursor>): AdapterChat<Cursor> =>
  new AdapterChat(options)
