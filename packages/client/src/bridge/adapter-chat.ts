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
  EMPTY,
  isEmpty,
  partsOf,
  type SendOptions,
  type SendResult,
  type UserPart,
  type WhenBusy,
} from '../chat/chat.ts'
import { ObservableState } from '../chat/observable-state.ts'
import { failureOf, RequestError } from '../error/chat-error.ts'
import { sendingOf } from '../store/local-messages.ts'
import { Store } from '../store/store.ts'
import type { ClientTools } from '../types/index.ts'
import { toChatMessage } from './chat-message.ts'
import { Conversation } from './conversation.ts'
import { AT_HAND, type TurnRequest, Turns } from './turns.ts'
import type { ChatAdapter, ChatAttachment, ChatMessage } from './types.ts'

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
interface OutgoingMessage {
  readonly messageId: string
  readonly parts: readonly UserPart[]
  readonly metadata?: JsonObject
  readonly attachments: ChatAttachment[]
}

/** Lets go of the addresses of files as soon as nobody has the files any more. */
const objectUrls = new FinalizationRegistry<string>(url => URL.revokeObjectURL(url))

/** A message that waits for its turn, and who wants to know what became of it. */
interface QueuedMessage {
  readonly outgoing: OutgoingMessage
  readonly done: (result: SendResult | Promise<SendResult>) => void
}

/** A conversation over an adapter. */
export class AdapterChat<Cursor = string> implements Chat {
  readonly store: Store
  callbacks: ChatCallbacks
  /** An adapter has no way to tell of tools that a client runs, nor to hear of them. */
  tools: ClientTools = {}
  readonly #options: AdapterChatOptions<Cursor>
  readonly #conversation: Conversation
  readonly #state: ObservableState
  readonly #turns: Turns
  readonly #queue: QueuedMessage[] = []
  /** What was said with what files, as long as it may have to be said again. */
  readonly #attachments = new Map<string, ChatAttachment[]>()
  #cursor: Cursor | undefined
  #starts = 0
  /** Whether the last page is there: one that could not be read is asked for again. */
  #isLoaded = false

  constructor(options: AdapterChatOptions<Cursor>) {
    const { adapter, streamFlushInterval, initialMessages = [], conversationId, backoff } = options
    this.#options = options
    this.callbacks = options
    this.store = new Store({ flushInterval: streamFlushInterval })
    this.#conversation = new Conversation(this.store, () => this.callbacks)
    this.#conversation.load(initialMessages)
    // What there is already is seen by whoever looks first: a server renders only once.
    this.store.flush()
    this.#state = new ObservableState({ sessionId: conversationId })
    this.#turns = new Turns({
      adapter,
      conversationId,
      backoff,
      conversation: this.#conversation,
      state: this.#state,
      callbacks: () => this.callbacks,
      over: () => this.#next(),
    })
  }

  get state(): ChatState {
    return this.#state.value
  }

  subscribe(listener: () => void): () => void {
    return this.#state.subscribe(listener)
  }

  start(): () => void {
    if (this.#starts++ === 0) this.#state.set({ connection: AT_HAND })
    if (!this.#isLoaded) void this.#load()
    let isStarted = true
    return () => {
      if (!isStarted) return
      isStarted = false
      if (--this.#starts > 0) return
      this.#giveUp()
      void this.#turns.halt()
      this.#state.set({ connection: { status: 'idle', reason: 'nobody follows' } })
    }
  }

  /** Has just these messages: what is under way, and what waits for its turn, stays behind them. */
  setMessages(messages: readonly ChatMessage[]): void {
    this.#conversation.replace(messages, this.#turns.messageId)
    this.store.flush()
  }

  /** What waits for its turn will not be sent, unless somebody sends it again. */
  #giveUp(): void {
    for (const { outgoing, done } of this.#queue.splice(0)) {
      const { messageId } = outgoing
      const refused = this.#refuse(messageId, 'SEND_ERROR', 'Nobody follows any more.')
      this.#show(outgoing, newId())
      this.#conversation.mark(messageId, 'error', refused.error)
      done(refused)
    }
  }

  clearError(): void {
    this.#state.set({ error: undefined, ...(!this.#turns.runId && { status: 'ready' }) })
  }

  async sendMessage(input: ChatInput, options: SendOptions = {}): Promise<SendResult> {
    const { messageId = newId(), whenBusy = this.#options.whenBusy ?? 'queue' } = options
    if (isEmpty(input)) return { messageId, error: EMPTY }
    const isTaken = this.#conversation.has(messageId) || this.#queue.some(one => one.outgoing.messageId === messageId)
    if (isTaken) return this.#refuse(messageId, 'SEND_ERROR', `There is a message ${messageId}.`)
    const isFree = !this.#turns.runId && this.#queue.length === 0
    if (!isFree && whenBusy === 'reject') return this.#refuse(messageId, 'busy', 'A reply is under way.')
    if (this.#queue.length >= QUEUE) return this.#refuse(messageId, 'busy', `${QUEUE} messages wait already.`)
    const outgoing = outgoingOf(messageId, input)
    if (isFree) return this.#say(outgoing)
    this.store.add(sendingOf({ ...outgoing, role: 'user', parts: [...outgoing.parts] }, Date.now()))
    if (whenBusy === 'queue') return new Promise(done => this.#queue.push({ outgoing, done }))
    while (this.#turns.runId) await this.#turns.halt()
    return this.#say(outgoing)
  }

  #refuse(messageId: string, code: string, message: string): SendResult {
    return { messageId, error: { code, message, source: 'send', recoverable: true, retryable: true } }
  }

  #say(outgoing: OutgoingMessage): Promise<SendResult> {
    const { messageId } = outgoing
    const runId = newId()
    this.#show(outgoing, runId)
    return this.#turns.begin(messageId, runId, this.#sending(messageId))
  }

  #show({ messageId, parts, metadata, attachments }: OutgoingMessage, runId: string): void {
    if (attachments.length > 0) this.#attachments.set(messageId, attachments)
    this.#conversation.say({ messageId, role: 'user', parts: [...parts], ...(metadata && { metadata }) }, runId)
  }

  /** Asks for the reply to a message that is shown. */
  #sending(messageId: string): TurnRequest {
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

  #next(): void {
    if (this.#turns.runId) return
    const waiting = this.#queue.shift()
    waiting?.done(this.#say(waiting.outgoing))
  }

  async stop({ runId }: { readonly runId?: string } = {}): Promise<void> {
    if (runId !== undefined && runId !== this.#turns.runId) return
    await this.#turns.halt()
    this.#next()
  }

  regenerate(messageId?: string): Promise<SendResult> {
    return this.#again(messageId)
  }

  async #again(messageId: string | undefined): Promise<SendResult> {
    while (this.#turns.runId) await this.#turns.halt()
    const all = this.#conversation.said
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
    return this.#turns.begin(anchor.id, newId(), {
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
    while (this.#turns.runId) await this.#turns.halt()
    const all = this.#conversation.said
    const isBroken = all.at(-1)?.status === 'error' && all.at(-1)?.role === 'assistant'
    const lastFailed = isBroken ? undefined : all.findLast(failed)
    const message = messageId === undefined ? lastFailed : all.find(({ id }) => id === messageId)
    if (!message || !failed(message)) return this.#again(messageId)
    const at = all.findIndex(({ id }) => id === message.id)
    const rest = all.slice(at + 1)
    // What came of it goes; what was said since then stays, before it.
    const replies = rest.slice(0, rest.findIndex(({ role }) => role === 'user') >>> 0).map(({ id }) => id)
    if (rest.length > 0) this.#conversation.keep(id => !replies.includes(id), message.id)
    this.#conversation.mark(message.id, 'sending')
    return this.#turns.begin(message.id, newId(), this.#sending(message.id))
  }

  async edit(messageId: string, input: ChatInput): Promise<SendResult> {
    if (isEmpty(input)) return { messageId, error: EMPTY }
    while (this.#turns.runId) await this.#turns.halt()
    const all = this.#conversation.said
    const at = all.findIndex(({ id }) => id === messageId)
    if (at < 0) return this.#refuse(messageId, 'SEND_ERROR', `There is no message ${messageId}.`)
    const kept = new Set(all.slice(0, at).map(({ id }) => id))
    this.#conversation.keep(id => kept.has(id))
    for (const id of this.#attachments.keys()) if (!kept.has(id)) this.#attachments.delete(id)
    return this.#say(outgoingOf(newId(), input))
  }

  async answer(answer: ChatAnswer): Promise<void> {
    const { adapter } = this.#options
    if (answer.kind !== 'approval' || !adapter.addToolApprovalResponse) {
      const needs = answer.kind === 'approval' ? ': it has no addToolApprovalResponse.' : '.'
      const error = new RequestError({
        code: 'unsupported',
        message: `The adapter takes no answer of the kind ${answer.kind}${needs}`,
      })
      // Who does not look at what becomes of an answer is told, too.
      this.#turns.report(error, 'SEND_ERROR', 'adapter', { id: answer.id })
      throw error
    }
    const { id, approved, reason } = answer
    this.store.flush()
    const isIt = (one: string) => one === id || foreignId(one) === id
    const pending = this.store.pendings.findLast(
      one => one.kind === 'approval' && (isIt(one.id) || isIt(one.part.toolCallId)),
    )
    const reply = pending?.kind === 'approval' && this.#conversation.reply(pending.messageId, '')
    const undo = reply ? reply.answer(pending.part.toolCallId, approved, reason) : undefined
    if (!undo) throw new RequestError({ code: 'unknown', message: `Nothing waits for an approval ${id}.` })
    this.#turns.look()
    try {
      await adapter.addToolApprovalResponse({ id: foreignId(id), approved, ...(reason !== undefined && { reason }) })
    } catch (error) {
      undo()
      this.#turns.look()
      this.#turns.report(error, 'SEND_ERROR', 'adapter', { id })
      throw failureOf(error)
    }
  }

  async loadOlder(): Promise<void> {
    if (this.state.hasOlder || !this.#isLoaded) await this.#load()
  }

  /** Shows the messages before those that are shown, or the last. */
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

/** What a person says, with its files to be seen at once. */
function outgoingOf(messageId: string, input: ChatInput): OutgoingMessage {
  const { files = [], metadata } = typeof input === 'string' ? {} : input
  const attachments = [...files].map(file => ({ localId: newId(), file }))
  const shown = attachments.map(({ file }) => {
    const url = URL.createObjectURL(file)
    objectUrls.register(attachments, url)
    return {
      type: 'file' as const,
      mediaType: file.type || 'application/octet-stream',
      url,
      filename: file.name,
    }
  })
  return { messageId, parts: [...partsOf(input), ...shown], ...(metadata && { metadata }), attachments }
}

/** Creates a chat over a `ChatAdapter`, without a Millrace server. */
export const createAdapterChat = <Cursor = string>(options: AdapterChatOptions<Cursor>): AdapterChat<Cursor> =>
  new AdapterChat(options)
