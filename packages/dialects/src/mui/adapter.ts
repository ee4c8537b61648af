// The adapter that a page gives to MUI X Chat, in place of its own: replies that outlive their connections, history, conversations, approvals.

import type { Backoff } from '@millrace/protocol/retry'
import type { ClientAnswer } from '../dialect/client-request.ts'
import { newId } from '../http/new-id.ts'
import { type HttpServerOptions, request } from '../http/request.ts'
import { RequestError } from '../http/request-error.ts'
import { Reply } from './reply.ts'
import { ReplyFollower } from './reply-follower.ts'
import { type MuiServer, requestWithRetry, sessionUrl } from './reply-stream.ts'
import type {
  ChatAttachment,
  ChatConversation,
  ChatMessagePart,
  ChatRealtimeEvent,
  ChatReplyChunk,
  ChatThreadMessage,
} from './types.ts'

export interface MuiAdapterOptions extends Omit<HttpServerOptions, 'api'> {
  /** Where the agent is: `/api/mui/<agent>`. */
  readonly url: string
  /** The conversation of a page that has no list of them; one of its own, if nothing is said. */
  readonly conversationId?: string
  /** How long it is waited before a connection that dropped is tried again. */
  readonly backoff?: Partial<Backoff>
}

/** What a person says, as far as it is looked at. */
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

/** A page of what was said, as the server gives it. */
interface History {
  readonly messages: ChatThreadMessage[]
  readonly hasMore: boolean
  readonly cursor?: string
  /** The reply that is under way. */
  readonly run?: string
  /** Which message answers what somebody said. */
  readonly answers?: Readonly<Record<string, string>>
}

/** A history that is on its way, in whose place the runtime shows nothing else once it is there. */
interface Listing {
  readonly conversationId: string
  /** What was said meanwhile. */
  readonly said: ChatThreadMessage[]
  readonly over: Promise<unknown>
}

const PAGE = 50

/** What is answered under another id than the one that it waits under. */
const OTHER_ID: ReadonlySet<string> = new Set(['answer_wrong_kind', 'answer_unknown'])

/** A page of MUI X Chat (`@mui/x-chat-headless` 9) that talks to an agent. */
export class MuiAdapter {
  readonly #server: MuiServer
  readonly #own: string
  /** Where the page is. */
  #conversation: string
  /** How often it went to a conversation: who leaves one does not stop what is under way there. */
  #visits = 0
  #tell: ((event: ChatRealtimeEvent) => void) | undefined
  /** The page that listened has gone. */
  #hasLeft = false
  #reply: Promise<Reply> | undefined
  #follower: ReplyFollower | undefined
  /** The answer to what somebody said, where there was one. */
  readonly #answers = new Map<string, string>()
  /** The approvals of the calls that were listed. */
  readonly #approvals = new Map<string, string>()
  /** Messages in whose place others came. */
  readonly #removed = new Set<string>()
  #listing: Listing | undefined

  constructor({ url, conversationId = newId(), ...options }: MuiAdapterOptions) {
    const api = url.replace(/\/$/, '')
    this.#server = { ...options, api, root: api.replace(/\/mui\/[^/]+$/, '') }
    this.#own = this.#conversation = conversationId
  }

  /** Says something; where it was said before, its answer is asked for anew. */
  sendMessage = async (input: SendInput): Promise<ReadableStream<ChatReplyChunk>> => {
    const { message, attachments = [] } = input
    const sessionId = input.conversationId ?? this.#own
    await this.#listed(sessionId, message, input.signal)
    const files = await Promise.all(attachments.map(({ file }) => uploaded(this.#server, sessionId, file)))
    const parts = [...message.parts, ...files]
    return this.#ask(input, { ...message, parts }, this.#answers.get(message.id))
  }

  /** Answers something anew. */
  regenerate = (input: SendInput & { readonly messageId: string }): Promise<ReadableStream<ChatReplyChunk>> => {
    const { message, messageId } = input
    return this.#ask(input, message, messageId === message.id ? (this.#answers.get(message.id) ?? true) : messageId)
  }

  /** Stops the reply that is under way, on the server; who goes to another conversation, or leaves the page, leaves it running. */
  stop = (): void => {
    const reply = this.#reply
    const follower = this.#follower
    const visits = this.#visits
    if (this.#hasLeft) return
    queueMicrotask(() => {
      if (visits === this.#visits) void this.#stop(reply, follower).catch(() => {})
    })
  }

  /** What was said, the last of it first; a reply that is under way is followed from then on. */
  listMessages = async ({
    conversationId,
    cursor,
  }: {
    readonly conversationId: string
    readonly cursor?: string | undefined
  }): Promise<{ messages: ChatThreadMessage[]; cursor?: string; hasMore: boolean }> => {
    if (cursor !== undefined) return this.#list(conversationId, cursor)
    this.#enter(conversationId)
    const read = this.#list(conversationId)
    const said: ChatThreadMessage[] = []
    const listing: Listing = { conversationId, said, over: read.catch(() => {}) }
    this.#listing = listing
    try {
      const { messages, ...more } = await read
      const known = new Set(messages.map(({ id }) => id))
      return { messages: [...messages, ...said.filter(({ id }) => !known.has(id))], ...more }
    } finally {
      if (this.#listing === listing) this.#listing = undefined
    }
  }

  async #list(conversationId: string, cursor?: string) {
    const visits = this.#visits
    const query = cursor === undefined ? '' : `&before=${encodeURIComponent(cursor)}`
    const url = `${this.#server.api}/${encodeURIComponent(conversationId)}/messages?messages=last:${PAGE}${query}`
    const read = await this.#json<History>(url)
    const { messages, hasMore, run, answers = {}, ...more } = read
    for (const [id, answer] of Object.entries(answers)) this.#answers.set(id, answer)
    for (const { toolCallId, approvalId } of messages.flatMap(callsIn))
      if (approvalId !== undefined) this.#approvals.set(toolCallId, approvalId)
    // When the runtime has what it asked for.
    if (run !== undefined && visits === this.#visits) setTimeout(() => this.#follow(conversationId, run, visits))
    return {
      messages: messages.map(message => ({ ...message, conversationId })),
      hasMore,
      ...(more.cursor !== undefined && { cursor: more.cursor }),
    }
  }

  /** One's own sessions, those touched last first. */
  listConversations = async (
    input: { readonly cursor?: string | undefined } = {},
  ): Promise<{ conversations: ChatConversation[]; cursor?: string; hasMore: boolean }> => {
    const { cursor } = input
    const url = `${this.#server.root}/sessions?limit=${PAGE}${cursor === undefined ? '' : `&after=${encodeURIComponent(cursor)}`}`
    const { sessions, next } = await this.#json<{ sessions: readonly SessionSummary[]; next: string | null }>(url)
    return {
      conversations: sessions.map(conversationOf),
      hasMore: next !== null,
      ...(next !== null && { cursor: next }),
    }
  }

  /** Tells the runtime what its stream cannot: what is taken back, and replies that began elsewhere. */
  subscribe = ({ onEvent }: { readonly onEvent: (event: never) => void }): (() => void) => {
    // Its own for each time: in React's strict mode the first is let go after the second has come.
    const tell = (event: ChatRealtimeEvent): void => onEvent(event as never)
    this.#tell = tell
    this.#hasLeft = false
    return () => {
      if (this.#tell !== tell) return
      this.#tell = undefined
      this.#hasLeft = true
      this.#follower?.leave()
      this.#follower = undefined
    }
  }

  addToolApprovalResponse = ({
    id,
    approved,
    reason,
  }: {
    readonly id: string
    readonly approved: boolean
    readonly reason?: string | undefined
  }): Promise<void> => this.answer({ kind: 'approval', id, approved, ...(reason !== undefined && { reason }) })

  /** Answers what waits: an approval, a call of a client's tool, or a question. The reply goes on by itself. */
  answer = async (answer: ClientAnswer): Promise<void> => {
    const sessionId = this.#conversation
    // Not by the dialect's route, to which what was settled otherwise is as good as answered: who comes too late is told so.
    const url = sessionUrl(this.#server, sessionId, '/answers')
    if (answer.kind !== 'approval') return this.#post(url, answer)
    try {
      await this.#post(url, { ...answer, id: await this.#approvalOf(answer.id) })
    } catch (error) {
      if (!(error instanceof RequestError && OTHER_ID.has(error.code))) throw error
      // By the id of a call of which nothing came here; that route knows it.
      await this.#post(undefined, { conversationId: sessionId, answers: [answer] })
    }
  }

  /** What an approval waits under that goes by the id of its call. */
  async #approvalOf(id: string): Promise<string> {
    const reply = await this.#reply?.catch(() => undefined)
    return reply?.approvalOf(id) ?? this.#follower?.approvalOf(id) ?? this.#approvals.get(id) ?? id
  }

  /** Waits until the history is there in whose place what is said now would be gone. Throws where it was stopped meanwhile. */
  async #listed(sessionId: string, message: SentMessage, signal: AbortSignal): Promise<void> {
    const listing = this.#listing
    const visits = this.#visits
    if (listing?.conversationId !== sessionId) return
    listing.said.push(message as ChatThreadMessage)
    const left = new Promise<void>(resolve => signal.addEventListener('abort', () => resolve()))
    await Promise.race([listing.over, left])
    // Who goes elsewhere has said it nevertheless.
    if (signal.aborted && visits === this.#visits && !this.#hasLeft) throw signal.reason
  }

  #enter(sessionId: string): void {
    this.#visits++
    this.#conversation = sessionId
    this.#follower?.leave()
    this.#follower = undefined
  }

  async #ask(
    { conversationId, messages, signal }: SendInput,
    { id, parts, metadata }: SentMessage,
    regenerate: string | boolean | undefined,
  ): Promise<ReadableStream<ChatReplyChunk>> {
    const sessionId = conversationId ?? this.#own
    if (!signal.aborted) this.#enter(sessionId)
    if (typeof regenerate === 'string') this.#removed.add(regenerate)
    const said = { id, role: 'user', parts, ...(metadata && { metadata }) }
    const body = { conversationId: sessionId, message: said, ...(regenerate !== undefined && { regenerate }) }
    const asking = this.#open(sessionId, body, signal)
    this.#reply = asking
    // Who stops it waits for it.
    asking.catch(() => {})
    const reply = await asking
    if (signal.aborted) reply.leave()
    signal.addEventListener('abort', () => reply.leave())
    this.#answers.set(id, reply.messageId)
    this.#remove(messages, id)
    return reply.stream
  }

  async #open(sessionId: string, body: object, signal: AbortSignal): Promise<Reply> {
    const server = this.#server
    // Not the runtime's signal: who stops the reply before it is there must know which it was.
    const left = new AbortController()
    const first = await requestWithRetry(server, signal, () => request(server, { body, signal: left.signal }))
    const runId = decodeURIComponent(first.headers.get('x-run-id') ?? '')
    return new Reply({ server, sessionId, runId, first, left, tell: () => this.#tell })
  }

  /** What stands behind a message that is answered anew, or in whose place another came, is no more. */
  #remove(messages: SendInput['messages'], id: string): void {
    const at = messages.findIndex(message => message.id === id)
    if (at < 0) return
    for (const { id: messageId } of messages.slice(at + 1)) {
      this.#removed.add(messageId)
      this.#tell?.({ type: 'message-removed', messageId })
    }
  }

  async #stop(asking: Promise<Reply> | undefined, follower: ReplyFollower | undefined): Promise<void> {
    const reply = await asking?.catch(() => undefined)
    const target = reply && !reply.isOver ? reply : follower
    if (target === undefined) return
    await this.#post(sessionUrl(this.#server, target.sessionId, '/stop'), { runId: target.runId })
    if (target === reply) this.#ended(reply)
  }

  /** Tells how a reply ended that the runtime reads no more: what waited in it waits no longer. */
  #ended({ sessionId, runId, messageId }: Reply): void {
    const tell = (event: ChatRealtimeEvent) => {
      if (this.#conversation !== sessionId || this.#removed.has(messageId)) return
      this.#tell?.(withConversation(event, sessionId))
    }
    new ReplyFollower({ server: this.#server, sessionId, runId, tell, onlyEnd: true })
  }

  /** Has something done; what comes of it is told where the reply is read. */
  async #post(url: string | undefined, body: object): Promise<void> {
    const { signal } = new AbortController()
    const response = await requestWithRetry(this.#server, signal, () => request(this.#server, { url, body }))
    await response.body?.cancel()
  }

  /** Follows what is under way in a conversation, while the page is there and does not read it itself. */
  #follow(sessionId: string, runId: string, visits: number): void {
    const tell = this.#tell
    if (!tell || visits !== this.#visits) return
    const told = (event: ChatRealtimeEvent) => tell(withConversation(event, sessionId))
    this.#follower = new ReplyFollower({ server: this.#server, sessionId, runId, tell: told })
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

const callsIn = ({ parts }: ChatThreadMessage) =>
  parts.flatMap(part => (part.type === 'tool' || part.type === 'dynamic-tool' ? [part.toolInvocation] : []))

function withConversation(event: ChatRealtimeEvent, conversationId: string): ChatRealtimeEvent {
  return event.type === 'message-updated' ? { ...event, message: { ...event.message, conversationId } } : event
}

/** An adapter for the `ChatProvider` of MUI X Chat: make it once, outside of what renders. */
export const createMuiAdapter = (options: MuiAdapterOptions): MuiAdapter => new MuiAdapter(options)

/** Gives a file to a session; the part by which a message names it. Throws where the server does not take it. */
async function uploaded(server: MuiServer, sessionId: string, file: File): Promise<ChatMessagePart> {
  const { fetch = globalThis.fetch, headers = {}, credentials = 'same-origin' } = server
  const given = new Headers(typeof headers === 'function' ? await headers() : headers)
  given.set('content-type', file.type || 'application/octet-stream')
  if (file.name) given.set('x-filename', encodeURIComponent(file.name))
  const response = await fetch(sessionUrl(server, sessionId, '/uploads'), {
    method: 'POST',
    headers: given,
    body: file,
    credentials: typeof credentials === 'function' ? await credentials() : credentials,
  })
  if (!response.ok) throw new Error(`${file.name}: the server did not take the file (${response.status}).`)
  const { url, mediaType, filename } = (await response.json()) as { url: string; mediaType: string; filename?: string }
  return { type: 'file', url, mediaType, ...(filename !== undefined && { filename }) }
}
