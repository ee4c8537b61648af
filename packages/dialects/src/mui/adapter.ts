// The adapter for MUI X Chat: replies that survive dropped connections, history, conversations and approvals.

import type { Backoff } from '@millrace/protocol/retry'
import type { ClientAnswer } from '../dialect/client-request.ts'
import { newId } from '../http/new-id.ts'
import { type HttpServerOptions, request } from '../http/request.ts'
import { RequestError } from '../http/request-error.ts'
import { Reply } from './client/reply.ts'
import { ReplyFollower } from './client/reply-follower.ts'
import { type MuiServer, requestWithRetry, sessionUrl } from './client/reply-stream.ts'
import type {
  ChatAttachment,
  ChatConversation,
  ChatMessagePart,
  ChatRealtimeEvent,
  ChatReplyChunk,
  ChatThreadMessage,
} from './types.ts'

/** Options of `createMuiAdapter`. */
export interface MuiAdapterOptions extends Omit<HttpServerOptions, 'api'> {
  /** URL of the agent: `/api/mui/<agent>`. */
  readonly url: string
  /** The conversation of a page without a conversation list. @default a new id */
  readonly conversationId?: string
  /** Delays before a dropped connection is retried, in ms. @default { firstMs: 100, longestMs: 10_000 } */
  readonly backoff?: Partial<Backoff>
}

/** The fields of a user message that are used. */
interface SentMessage {
  readonly id: string
  readonly parts: readonly { readonly type: string }[]
  readonly metadata?: object | undefined
}

interface SendInput {
  readonly conversationId?: string | undefined
  readonly message: SentMessage
  readonly messages: readonly { readonly id: string }[]
  readonly attachments?: readonly Pick<ChatAttachment, 'file'>[] | undefined
  readonly signal: AbortSignal
}

/** A page of messages from the server. */
interface History {
  readonly messages: ChatThreadMessage[]
  readonly hasMore: boolean
  readonly cursor?: string
  /** Id of the open run. */
  readonly run?: string
  /** Reply ids by user message id. */
  readonly answers?: Readonly<Record<string, string>>
}

/** A request for messages. Once it resolves, the runtime shows only its result. */
interface PendingList {
  readonly conversationId: string
  /** Messages that were sent meanwhile. */
  readonly sentMessages: ChatThreadMessage[]
  readonly done: Promise<unknown>
}

const PAGE_SIZE = 50

/** Error codes of an answer with the id of its call instead of its own id. */
const CALL_ID_ERRORS: ReadonlySet<string> = new Set(['answer_wrong_kind', 'answer_unknown'])

/** Connects a page of MUI X Chat (`@mui/x-chat-headless` 9) to an agent. */
export class MuiAdapter {
  readonly #server: MuiServer
  readonly #defaultConversation: string
  /** The conversation that the page shows. */
  #conversation: string
  /** Number of conversation changes. Leaving a conversation does not stop its run. */
  #conversationChanges = 0
  #onEvent: ((event: ChatRealtimeEvent) => void) | undefined
  /** Whether the page has unsubscribed. */
  #isUnsubscribed = false
  #reply: Promise<Reply> | undefined
  #follower: ReplyFollower | undefined
  /** Reply ids by user message id. */
  readonly #answers = new Map<string, string>()
  /** Approval ids by call id, from listed messages. */
  readonly #approvals = new Map<string, string>()
  /** Ids of messages that were replaced. */
  readonly #removed = new Set<string>()
  #pendingList: PendingList | undefined

  constructor({ url, conversationId = newId(), ...options }: MuiAdapterOptions) {
    const api = url.replace(/\/$/, '')
    this.#server = { ...options, api, root: api.replace(/\/mui\/[^/]+$/, '') }
    this.#defaultConversation = this.#conversation = conversationId
  }

  /**
   * Sends a message. A message that was sent before is regenerated.
   * @throws a `RequestError` if the server refuses it, and an `Error` if it rejects an attachment.
   */
  sendMessage = async (input: SendInput): Promise<ReadableStream<ChatReplyChunk>> => {
    const { message, attachments = [] } = input
    const sessionId = input.conversationId ?? this.#defaultConversation
    await this.#waitForList(sessionId, message, input.signal)
    const files = await Promise.all(attachments.map(({ file }) => uploadFile(this.#server, sessionId, file)))
    const parts = [...message.parts, ...files]
    return this.#requestReply(input, { ...message, parts }, this.#answers.get(message.id))
  }

  /**
   * Regenerates a reply.
   * @throws a `RequestError` if the server refuses.
   */
  regenerate = (input: SendInput & { readonly messageId: string }): Promise<ReadableStream<ChatReplyChunk>> => {
    const { message, messageId } = input
    return this.#requestReply(
      input,
      message,
      messageId === message.id ? (this.#answers.get(message.id) ?? true) : messageId,
    )
  }

  /** Stops the open run on the server. Changing the conversation or leaving the page does not stop it. */
  stop = (): void => {
    const reply = this.#reply
    const follower = this.#follower
    const conversationChanges = this.#conversationChanges
    if (this.#isUnsubscribed) return
    queueMicrotask(() => {
      if (conversationChanges === this.#conversationChanges) void this.#stop(reply, follower).catch(() => {})
    })
  }

  /**
   * Lists messages, newest page first. An open run is followed from then on.
   * @throws a `RequestError` if the server refuses.
   */
  listMessages = async ({
    conversationId,
    cursor,
  }: {
    readonly conversationId: string
    readonly cursor?: string | undefined
  }): Promise<{ messages: ChatThreadMessage[]; cursor?: string; hasMore: boolean }> => {
    if (cursor !== undefined) return this.#list(conversationId, cursor)
    this.#showConversation(conversationId)
    const read = this.#list(conversationId)
    const sentMessages: ChatThreadMessage[] = []
    const pendingList: PendingList = { conversationId, sentMessages, done: read.catch(() => {}) }
    this.#pendingList = pendingList
    try {
      const { messages, ...more } = await read
      const listedIds = new Set(messages.map(({ id }) => id))
      return { messages: [...messages, ...sentMessages.filter(({ id }) => !listedIds.has(id))], ...more }
    } finally {
      if (this.#pendingList === pendingList) this.#pendingList = undefined
    }
  }

  async #list(conversationId: string, cursor?: string) {
    const conversationChanges = this.#conversationChanges
    const query = cursor === undefined ? '' : `&before=${encodeURIComponent(cursor)}`
    const url = `${this.#server.api}/${encodeURIComponent(conversationId)}/messages?messages=last:${PAGE_SIZE}${query}`
    const read = await this.#json<History>(url)
    const { messages, hasMore, run, answers = {}, ...more } = read
    for (const [id, answer] of Object.entries(answers)) this.#answers.set(id, answer)
    for (const { toolCallId, approvalId } of messages.flatMap(toolInvocationsOf))
      if (approvalId !== undefined) this.#approvals.set(toolCallId, approvalId)
    // Follows the run after the runtime has received the list.
    if (run !== undefined && conversationChanges === this.#conversationChanges)
      setTimeout(() => this.#follow(conversationId, run, conversationChanges))
    return {
      messages: messages.map(message => ({ ...message, conversationId })),
      hasMore,
      ...(more.cursor !== undefined && { cursor: more.cursor }),
    }
  }

  /**
   * Lists the sessions of the user, most recently updated first.
   * @throws a `RequestError` if the server refuses.
   */
  listConversations = async (
    input: { readonly cursor?: string | undefined } = {},
  ): Promise<{ conversations: ChatConversation[]; cursor?: string; hasMore: boolean }> => {
    const { cursor } = input
    const url = `${this.#server.root}/sessions?limit=${PAGE_SIZE}${cursor === undefined ? '' : `&after=${encodeURIComponent(cursor)}`}`
    const { sessions, next } = await this.#json<{ sessions: readonly SessionSummary[]; next: string | null }>(url)
    return {
      conversations: sessions.map(conversationOf),
      hasMore: next !== null,
      ...(next !== null && { cursor: next }),
    }
  }

  /** Subscribes the runtime to events that its stream cannot have: discards, and replies that started elsewhere. */
  subscribe = ({ onEvent }: { readonly onEvent: (event: never) => void }): (() => void) => {
    // One function per subscription: React strict mode unsubscribes the first after the second.
    const listener = (event: ChatRealtimeEvent): void => onEvent(event as never)
    this.#onEvent = listener
    this.#isUnsubscribed = false
    return () => {
      if (this.#onEvent !== listener) return
      this.#onEvent = undefined
      this.#isUnsubscribed = true
      this.#follower?.close()
      this.#follower = undefined
    }
  }

  /**
   * Answers an approval, by its id or by the id of its call.
   * @throws a `RequestError` if the server refuses.
   */
  addToolApprovalResponse = ({
    id,
    approved,
    reason,
  }: {
    readonly id: string
    readonly approved: boolean
    readonly reason?: string | undefined
  }): Promise<void> => this.answer({ kind: 'approval', id, approved, ...(reason !== undefined && { reason }) })

  /**
   * Answers an approval, a client tool call or an interrupt. The reply continues by itself.
   * @throws a `RequestError` if the server refuses, such as an answer to a settled request.
   */
  answer = async (answer: ClientAnswer): Promise<void> => {
    const sessionId = this.#conversation
    // Not by the route of the dialect, which accepts answers to settled requests: a late answer must fail.
    const url = sessionUrl(this.#server, sessionId, '/answers')
    if (answer.kind !== 'approval') return this.#post(url, answer)
    try {
      await this.#post(url, { ...answer, id: await this.#approvalOf(answer.id) })
    } catch (error) {
      if (!(error instanceof RequestError && CALL_ID_ERRORS.has(error.code))) throw error
      // The call is unknown here. The route of the dialect finds it by its id.
      await this.#post(undefined, { conversationId: sessionId, answers: [answer] })
    }
  }

  /** The approval id of a call. */
  async #approvalOf(id: string): Promise<string> {
    const reply = await this.#reply?.catch(() => undefined)
    return reply?.approvalOf(id) ?? this.#follower?.approvalOf(id) ?? this.#approvals.get(id) ?? id
  }

  /**
   * Waits for an open list request, which would remove a message that is sent before it resolves.
   * @throws the abort reason if the message was stopped meanwhile.
   */
  async #waitForList(sessionId: string, message: SentMessage, signal: AbortSignal): Promise<void> {
    const pendingList = this.#pendingList
    const conversationChanges = this.#conversationChanges
    if (pendingList?.conversationId !== sessionId) return
    pendingList.sentMessages.push(message as ChatThreadMessage)
    const aborted = new Promise<void>(resolve => signal.addEventListener('abort', () => resolve()))
    await Promise.race([pendingList.done, aborted])
    // A message is sent even if the page changes the conversation.
    if (signal.aborted && conversationChanges === this.#conversationChanges && !this.#isUnsubscribed)
      throw signal.reason
  }

  #showConversation(sessionId: string): void {
    this.#conversationChanges++
    this.#conversation = sessionId
    this.#follower?.close()
    this.#follower = undefined
  }

  async #requestReply(
    { conversationId, messages, signal }: SendInput,
    { id, parts, metadata }: SentMessage,
    regenerate: string | boolean | undefined,
  ): Promise<ReadableStream<ChatReplyChunk>> {
    const sessionId = conversationId ?? this.#defaultConversation
    if (!signal.aborted) this.#showConversation(sessionId)
    if (typeof regenerate === 'string') this.#removed.add(regenerate)
    const sent = { id, role: 'user', parts, ...(metadata && { metadata }) }
    const body = { conversationId: sessionId, message: sent, ...(regenerate !== undefined && { regenerate }) }
    const replyPromise = this.#open(sessionId, body, signal)
    this.#reply = replyPromise
    // `stop` waits for it, too.
    replyPromise.catch(() => {})
    const reply = await replyPromise
    if (signal.aborted) reply.close()
    signal.addEventListener('abort', () => reply.close())
    this.#answers.set(id, reply.messageId)
    this.#remove(messages, id)
    return reply.stream
  }

  async #open(sessionId: string, body: object, signal: AbortSignal): Promise<Reply> {
    const server = this.#server
    // Not the signal of the runtime: only the response has the id of the run to stop.
    const aborter = new AbortController()
    const first = await requestWithRetry(server, signal, () => request(server, { body, signal: aborter.signal }))
    const runId = decodeURIComponent(first.headers.get('x-run-id') ?? '')
    return new Reply({ server, sessionId, runId, first, aborter, onEvent: () => this.#onEvent })
  }

  /** Removes the messages after a message that was regenerated or replaced. */
  #remove(messages: SendInput['messages'], id: string): void {
    const at = messages.findIndex(message => message.id === id)
    if (at < 0) return
    for (const { id: messageId } of messages.slice(at + 1)) {
      this.#removed.add(messageId)
      this.#onEvent?.({ type: 'message-removed', messageId })
    }
  }

  async #stop(replyPromise: Promise<Reply> | undefined, follower: ReplyFollower | undefined): Promise<void> {
    const reply = await replyPromise?.catch(() => undefined)
    const target = reply && !reply.isOver ? reply : follower
    if (target === undefined) return
    await this.#post(sessionUrl(this.#server, target.sessionId, '/stop'), { runId: target.runId })
    if (target === reply) this.#emitEnd(reply)
  }

  /** Emits the end of a reply that the runtime does not read any more. */
  #emitEnd({ sessionId, runId, messageId }: Reply): void {
    const onEvent = (event: ChatRealtimeEvent) => {
      if (this.#conversation !== sessionId || this.#removed.has(messageId)) return
      this.#onEvent?.(withConversation(event, sessionId))
    }
    new ReplyFollower({ server: this.#server, sessionId, runId, onEvent, onlyEnd: true })
  }

  /** Sends a command. Its effect arrives with the reply. */
  async #post(url: string | undefined, body: object): Promise<void> {
    const { signal } = new AbortController()
    const response = await requestWithRetry(this.#server, signal, () => request(this.#server, { url, body }))
    await response.body?.cancel()
  }

  /** Follows the open run of a conversation while the page shows it and does not read it itself. */
  #follow(sessionId: string, runId: string, conversationChanges: number): void {
    const onEvent = this.#onEvent
    if (!onEvent || conversationChanges !== this.#conversationChanges) return
    const onReplyEvent = (event: ChatRealtimeEvent) => onEvent(withConversation(event, sessionId))
    this.#follower = new ReplyFollower({ server: this.#server, sessionId, runId, onEvent: onReplyEvent })
  }

  async #json<T>(url: string): Promise<T> {
    const { signal } = new AbortController()
    const reply = await requestWithRetry(this.#server, signal, () => request(this.#server, { method: 'GET', url }))
    return (await reply.json()) as T
  }
}

interface SessionSummary {
  readonly sessionId: string
  readonly title?: string
  readonly line?: string
  readonly updated: number
}

const conversationOf = ({ sessionId: id, title, line, updated }: SessionSummary): ChatConversation => ({
  id,
  ...(title !== undefined && { title }),
  ...(line !== undefined && { subtitle: line }),
  lastMessageAt: new Date(updated).toISOString(),
})

const toolInvocationsOf = ({ parts }: ChatThreadMessage) =>
  parts.flatMap(part => (part.type === 'tool' || part.type === 'dynamic-tool' ? [part.toolInvocation] : []))

function withConversation(event: ChatRealtimeEvent, conversationId: string): ChatRealtimeEvent {
  return event.type === 'message-updated' ? { ...event, message: { ...event.message, conversationId } } : event
}

/** Creates an adapter for the `ChatProvider` of MUI X Chat. Create it once, outside of rendering. */
export const createMuiAdapter = (options: MuiAdapterOptions): MuiAdapter => new MuiAdapter(options)

/**
 * Uploads a file to a session. Returns its part.
 * @throws an `Error` if the server rejects the file.
 */
async function uploadFile(server: MuiServer, sessionId: string, file: File): Promise<ChatMessagePart> {
  const { fetch = globalThis.fetch, headers = {}, credentials = 'same-origin' } = server
  const requestHeaders = new Headers(typeof headers === 'function' ? await headers() : headers)
  requestHeaders.set('content-type', file.type || 'application/octet-stream')
  if (file.name) requestHeaders.set('x-filename', encodeURIComponent(file.name))
  const response = await fetch(sessionUrl(server, sessionId, '/uploads'), {
    method: 'POST',
    headers: requestHeaders,
    body: file,
    credentials: typeof credentials === 'function' ? await credentials() : credentials,
  })
  if (!response.ok) throw new Error(`${file.name}: the server rejected the file with status ${response.status}.`)
  const { url, mediaType, filename } = (await response.json()) as { url: string; mediaType: string; filename?: string }
  return { type: 'file', url, mediaType, ...(filename !== undefined && { filename }) }
}
