import { newId } from '@millrace/dialects'
import { distinctId } from '@millrace/dialects/internal'
import type { Entry, Message, MessageStatus } from '@millrace/protocol'
import { MAIN_LANE } from '@millrace/protocol/internal'
import type { ChatCallbacks } from '../chat/callbacks.ts'
import type { ChatError } from '../error/chat-error.ts'
import type { LocalMessage } from '../store/local-messages.ts'
import type { Store } from '../store/store.ts'
import { foldedMessagesOf, isOwnMessage, toChatMessage, withLast, withOnly } from './chat-message.ts'
import { Reply } from './reply.ts'
import type { ChatMessage } from './types.ts'

/** The messages of a chat over an adapter: a local log, folded into the store as it is written. */
export class Conversation {
  readonly #store: Store
  readonly #callbacks: () => ChatCallbacks
  #replies = new Map<string, Reply>()
  /** Run ids by message id, undefined for user messages. Contains all messages, for lookup in constant time. */
  #runIds = new Map<string, string | undefined>()
  /** Ids of all tool calls. They share one namespace in the fold. */
  readonly #callIds = new Set<string>()
  readonly #usedRunIds = new Set<string>()

  constructor(store: Store, callbacks: () => ChatCallbacks) {
    this.#store = store
    this.#callbacks = callbacks
  }

  /** All messages, queued ones included, in their current state. */
  get messages(): readonly Message[] {
    this.#store.flush()
    return this.#store.ownMessages
  }

  /** All messages except queued ones. */
  get sentMessages(): readonly Message[] {
    return this.messages.filter(({ at }) => at !== Number.MAX_SAFE_INTEGER)
  }

  has(id: string): boolean {
    return this.#runIds.has(id)
  }

  /** Adds messages before all others. Messages that are already in the conversation stay as they are. */
  load(loaded: readonly ChatMessage[]): void {
    const addedIds = new Set<string>()
    const added = loaded.filter(({ id }) => !this.has(id) && !addedIds.has(id) && addedIds.add(id))
    if (added.length === 0) return
    const view = this.#store.view()
    const callIdOf = (id: string, runId: string) => {
      const uniqueId = this.#callIds.has(id) ? distinctId(id, runId) : id
      this.#callIds.add(uniqueId)
      return uniqueId
    }
    const { messages, runs, overrides } = foldedMessagesOf(added, view.messages[0]?.at ?? 1, callIdOf)
    overrides.forEach(({ id, patch }, i) => {
      const { id: messageId, runId } = messages[i] as Message
      this.#runIds.set(id, runId)
      if (messageId !== id) this.#store.rename(messageId, id)
      this.#store.patch(id, patch)
    })
    this.#store.restore({ ...view, messages: [...messages, ...view.messages], runs: [...runs, ...view.runs] })
  }

  /** Replaces all messages before `from`. That message and all after it stay, behind the new ones. */
  replace(replacements: readonly ChatMessage[], from?: string): void {
    const sent = this.sentMessages
    const at = sent.findIndex(({ id }) => id === from) >>> 0
    const keptIds = new Set(sent.slice(at).map(({ id }) => id))
    const currentMessages = new Map(sent.slice(0, at).map(message => [message.id, toChatMessage(message)]))
    const newMessages = new Map(replacements.filter(({ id }) => !keptIds.has(id)).map(message => [message.id, message]))
    // For a message of this chat, the chat's current state is used, even if the caller passes an older one.
    for (const [id, message] of newMessages)
      newMessages.set(id, (isOwnMessage(message) && currentMessages.get(id)) || message)
    const remaining = [...currentMessages.values()].filter(({ id }) => newMessages.has(id))
    const onlyRemoves = [...newMessages.values()].every((message, i) => message === remaining[i])
    if (onlyRemoves && remaining.length === currentMessages.size) return
    this.keep(id => keptIds.has(id) || (onlyRemoves && newMessages.has(id)))
    this.load([...newMessages.values()])
  }

  /** Adds a user message that is being sent. */
  addUserMessage(message: LocalMessage, runId: string): void {
    const { messageId: id, parts, metadata } = message
    const messageId = id.includes('::') ? newId() : id
    if (messageId !== id) this.#store.rename(messageId, id)
    const entry: Entry = {
      sequence: this.#store.head + 1,
      timestamp: Date.now(),
      origin: { runId, lane: MAIN_LANE, agentId: runId, agentType: 'assistant', step: 0 },
      chunk: { type: 'message', messageId: messageId, role: 'user', parts, ...(metadata && { metadata }) },
    }
    this.#store.fold([entry])
    this.#runIds.set(id, undefined)
    this.mark(id, 'sending')
  }

  /** Sets the status of a message. */
  mark(id: string, status: MessageStatus, error?: ChatError): void {
    const { code, message, retryable } = error ?? {}
    this.#store.patch(id, { status, error: error && { code, message, retryable } } as Partial<Message>)
  }

  /** The reply with an id, to continue it, or else a new one of that run. The id of a user message gives a reply with another id. */
  reply(id: string | undefined, runId: string): Reply {
    const openReply = id === undefined ? undefined : this.#replies.get(id)
    if (openReply) return openReply
    const isUserMessage = id !== undefined && this.has(id) && this.#runIds.get(id) === undefined
    const existingRunId = id === undefined ? undefined : this.#runIds.get(id)
    const existing = existingRunId === undefined ? undefined : this.messages.find(message => message.id === id)
    const uniqueRunId = existingRunId ?? (this.#usedRunIds.has(runId) ? newId() : runId)
    this.#usedRunIds.add(uniqueRunId)
    const options = { store: this.#store, runId: uniqueRunId, callIds: this.#callIds, callbacks: this.#callbacks }
    const reply = new Reply(options, isUserMessage ? newId() : id, existing)
    this.#replies.set(reply.id, reply)
    this.#runIds.set(reply.id, uniqueRunId)
    return reply
  }

  /** Gives a reply another id. */
  rename(reply: Reply, id: string): void {
    this.#replies.delete(reply.id)
    this.#runIds.delete(reply.id)
    reply.rename(id)
    this.#replies.set(id, reply)
    this.#runIds.set(id, reply.runId)
  }

  /** Removes all messages but those that `isKept` selects, and moves `last` to the end. Returns a function that undoes this. */
  keep(isKept: (id: string) => boolean, last?: string): () => void {
    const ids = this.messages.map(({ id }) => id)
    const keptIds = new Set(ids.filter(isKept))
    const before = this.#store.view()
    const replies = this.#replies
    const runIds = this.#runIds
    const messages = before.messages.filter((_, i) => keptIds.has(ids[i] as string))
    const moved = last === undefined ? undefined : before.messages[ids.indexOf(last)]
    this.#replies = new Map([...replies].filter(([id]) => keptIds.has(id)))
    this.#runIds = new Map([...runIds].filter(([id]) => keptIds.has(id)))
    this.#store.restore(moved ? withLast(withOnly(before, messages), moved) : withOnly(before, messages))
    return () => {
      this.#replies = replies
      this.#runIds = runIds
      this.#store.restore({ ...before, head: this.#store.head })
    }
  }
}
