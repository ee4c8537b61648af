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
import { restoreSession, storageKeyOf } from './remembered-session.ts'

/** A chat and the props it was created from. */
export interface ProviderChat extends HeldChat {
  readonly given: ProviderOptions
  /** Storage key of its session. Undefined if the session was named, or the chat has no server. */
  readonly place?: string | undefined
  /** Whether its session was restored from the storage. */
  readonly isFound?: boolean
  /** Applies the latest props. */
  update(given: ProviderOptions): void
  /** Applies the messages of the parent. Returns true if some of them have to wait until a reply has ended. */
  show(messages: ProviderOptions['messages']): boolean
  /** Its messages in the format of the parent. */
  toParent(messages: readonly Message[]): readonly (Message | ChatMessage)[]
}

/** The identity of a chat: props whose change creates a new one. */
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
  const credentials = typeof headers === 'function' ? 'a function' : JSON.stringify([...new Headers(headers)])
  return [api, agent, workflow, session, connection, credentials]
}

/** Whether these props identify this chat. */
export function isChatOf(held: ProviderChat, given: ProviderOptions): boolean {
  const before = keyOf(held.given)
  const now = keyOf(given)
  return before.length === now.length && before.every((one, i) => Object.is(one, now[i]))
}

/**
 * Creates the chat of these props. It sends no request before `start`.
 * @throws an `Error` if the `chat` or `adapter` prop is undefined and no other prop identifies a chat.
 */
export function createProviderChat(given: ProviderOptions): ProviderChat {
  const { chat, adapter, agent, workflow, session } = given
  if (chat) return { ...heldOf(chat, () => chat), ...controlledMessagesOf(chat), given, update: () => {} }
  if (adapter) return provideAdapterChat(given, { ...given, adapter })
  const missing = 'chat' in given ? 'chat' : 'adapter' in given ? 'adapter' : undefined
  if (missing && (agent ?? workflow ?? session) === undefined) {
    throw new Error(
      `The ${missing} of this <ChatProvider> is undefined. Create it first, or render the provider later.`,
    )
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
  const reported = new WeakSet<object>()
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
      // The parent passes the reported messages back, possibly late. They need no update.
      if (reported.delete(messages)) return false
      chat.setMessages(messages as readonly ChatMessage[])
      return chat.state.runId !== undefined
    },
    toParent: messages => {
      const shaped = messages.map(toChatMessage)
      reported.add(shaped)
      return shaped
    },
  }
}

function provideHttpChat(given: ProviderOptions): ProviderChat {
  const { api, agent, workflow, session, snapshot, messages, connection } = given
  const isNamed = session !== undefined || snapshot !== undefined || connection?.isOfPage
  const place = isNamed ? undefined : storageKeyOf(api, agent ?? workflow)
  const found = place && restoreSession(place)
  let { headers } = given
  const options: ChatOptions = { ...given, session: session ?? found }
  if (typeof headers === 'function') {
    Object.assign(options, { headers: () => (typeof headers === 'function' ? headers() : {}) })
  }
  const make = () => {
    const chat = createChat(options)
    controlledMessagesOf(chat).show(messages)
    return chat
  }
  const chat = make()
  return {
    ...heldOf(chat, () => {
      const { store, state } = typeof document === 'undefined' ? chat : make()
      // A session id that was created here, or that only this tab knows, differs on the server.
      return { store, state: { ...state, sessionId: session } }
    }),
    ...controlledMessagesOf(chat),
    given,
    place,
    isFound: found !== undefined,
    update: now => {
      const { data, whenBusy, pageSize, tools = NONE } = now
      headers = now.headers
      // The chat asks for them each time.
      Object.assign(options, { data, whenBusy, pageSize })
      chat.callbacks = callbacksOf(now)
      // Setting the tools checks all pendings, so it is done only on a change.
      if (tools !== chat.tools) chat.tools = tools
    },
  }
}

const NONE: ClientTools = {}

/** Controlled messages of a chat whose log is authoritative. */
const controlledMessagesOf = ({ store }: Chat): Pick<ProviderChat, 'show' | 'toParent'> => ({
  show: messages => {
    store.control(messages as readonly Message[] | undefined)
    return false
  },
  toParent: messages => messages,
})

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
