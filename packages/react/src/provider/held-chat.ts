import {
  type AdapterChatOptions,
  type Chat,
  type ChatCallbacks,
  type ChatMessage,
  type ChatOptions,
  type ClientTools,
  createAdapterChat,
  createChat,
  type Message,
} from '@millrace/client'
import { toChatMessage } from '@millrace/client/internal'
import type { ChatSource, HeldChat } from '../context/chat-context.ts'
import type { ProviderOptions } from './props.ts'
import { recall, storageKeyOf } from './remembered-session.ts'

/** A chat, and what it was made of. */
export interface ProviderChat extends HeldChat {
  readonly given: ProviderOptions
  /** Where the tab remembers its session; nowhere, if it was named, or is none of a server's. */
  readonly place?: string | undefined
  /** Whether its session is one that the tab remembered. */
  readonly isFound?: boolean
  /** Has it use what is given now. */
  update(given: ProviderOptions): void
  /** Has it show what the parent says; true where something of that has to wait until a reply is over. */
  show(messages: ProviderOptions['messages']): boolean
  /** Its messages, as the parent is told of them. */
  told(messages: readonly Message[]): readonly (Message | ChatMessage)[]
}

/** What makes another chat of it when it is another. */
function keyOf({
  chat,
  adapter,
  conversationId,
  api,
  agent,
  workflow,
  session,
  connection,
  headers,
}: ProviderOptions): unknown[] {
  if (chat) return [chat]
  if (adapter) return [adapter, conversationId]
  const who = typeof headers === 'function' ? 'a function' : JSON.stringify([...new Headers(headers)])
  return [api, agent, workflow, session, connection, who]
}

/** Whether it is the chat of these. */
export function isChatOf(held: ProviderChat, given: ProviderOptions): boolean {
  const before = keyOf(held.given)
  const now = keyOf(given)
  return before.length === now.length && before.every((one, i) => Object.is(one, now[i]))
}

/** The chat of these: it asks for nothing, and listens to nothing, before it is started. */
export function createProviderChat(given: ProviderOptions): ProviderChat {
  const { chat, adapter, agent, workflow, session } = given
  if (chat) return { ...heldOf(chat, () => chat), ...showing(chat), given, update: () => {} }
  if (adapter) return provideAdapterChat(given, { ...given, adapter })
  const missing = 'chat' in given ? 'chat' : 'adapter' in given ? 'adapter' : undefined
  if (missing && (agent ?? workflow ?? session) === undefined) {
    throw new Error(`The ${missing} of this <ChatProvider> is undefined: make it first, or render the provider later.`)
  }
  return provideHttpChat(given)
}

function provideAdapterChat(
  given: ProviderOptions,
  { messages, ...more }: ProviderOptions & AdapterChatOptions<unknown>,
): ProviderChat {
  const initialMessages = (messages as readonly ChatMessage[] | undefined) ?? more.initialMessages
  const options = { ...more, initialMessages }
  const chat = createAdapterChat(options)
  const told = new WeakSet<object>()
  let last = messages
  return {
    ...heldOf(chat, () => (typeof document === 'undefined' ? chat : createAdapterChat(options))),
    given,
    update: now => {
      // The chat asks for it each time.
      options.whenBusy = now.whenBusy
      chat.callbacks = callbacksOf(now)
    },
    show: messages => {
      if (!messages || messages === last) return false
      last = messages
      // What comes back for the first time is what the parent was told, however late.
      if (told.delete(messages)) return false
      chat.setMessages(messages as readonly ChatMessage[])
      return chat.state.runId !== undefined
    },
    told: messages => {
      const shaped = messages.map(toChatMessage)
      told.add(shaped)
      return shaped
    },
  }
}

function provideHttpChat(given: ProviderOptions): ProviderChat {
  const { api, agent, workflow, session, snapshot, messages, connection } = given
  const isNamed = session !== undefined || snapshot !== undefined || connection?.isOfPage
  const place = isNamed ? undefined : storageKeyOf(api, agent ?? workflow)
  const found = place && recall(place)
  let { headers } = given
  const options: ChatOptions = { ...given, session: session ?? found }
  if (typeof headers === 'function') {
    Object.assign(options, { headers: () => (typeof headers === 'function' ? headers() : {}) })
  }
  const make = () => {
    const chat = createChat(options)
    showing(chat).show(messages)
    return chat
  }
  const chat = make()
  return {
    ...heldOf(chat, () => {
      const { store, state } = typeof document === 'undefined' ? chat : make()
      // A name that was thought of here, or that only this tab knows, is another on the server.
      return { store, state: { ...state, sessionId: session } }
    }),
    ...showing(chat),
    given,
    place,
    isFound: found !== undefined,
    update: now => {
      const { data, whenBusy, pageSize, tools = NONE } = now
      headers = now.headers
      // The chat asks for them each time.
      Object.assign(options, { data, whenBusy, pageSize })
      chat.callbacks = callbacksOf(now)
      // It looks each time for what waits for one of them.
      if (tools !== chat.tools) chat.tools = tools
    },
  }
}

const NONE: ClientTools = {}

/** What the parent keeps of a chat whose messages are not the parent's to say. */
const showing = ({ store }: Chat): Pick<ProviderChat, 'show' | 'told'> => ({
  show: messages => {
    store.control(messages as readonly Message[] | undefined)
    return false
  },
  told: messages => messages,
})

/** The callbacks among these. */
const callbacksOf = ({ onData, onToolCall, onFinish, onError }: ChatCallbacks): ChatCallbacks => ({
  onData,
  onToolCall,
  onFinish,
  onError,
})

function heldOf(chat: Chat, readFirst: () => ChatSource): HeldChat {
  let first: ChatSource | undefined
  return {
    chat,
    actions: {
      sendMessage: chat.sendMessage.bind(chat),
      stop: chat.stop.bind(chat),
      regenerate: chat.regenerate.bind(chat),
      retry: chat.retry.bind(chat),
      edit: chat.edit.bind(chat),
      answer: chat.answer.bind(chat),
      loadOlder: chat.loadOlder.bind(chat),
      clearError: chat.clearError.bind(chat),
    },
    first: () => {
      first ??= readFirst()
      return first
    },
  }
}
