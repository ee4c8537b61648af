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
import type { ChatContextValue, ChatSource } from '../context/chat-context.ts'
import type { ProviderOptions } from './chat-provider-props.ts'
import { restoreSession, storageKeyOf } from './stored-session.ts'

/** A chat and the props it was created from. */
export interface ProviderChat extends ChatContextValue {
  readonly props: ProviderOptions
  /** Storage key of its session id. Undefined if the props name the session, or the chat has no server. */
  readonly storageKey?: string | undefined
  /** Whether its session was restored from the storage. */
  readonly isRestored?: boolean
  /** Applies the latest props. */
  update(props: ProviderOptions): void
  /** Applies the messages of the parent. Returns true if some of them have to wait until a reply has ended. */
  show(messages: ProviderOptions['messages']): boolean
  /** Its messages in the format of the parent. */
  toParent(messages: readonly Message[]): readonly (Message | ChatMessage)[]
}

/** Identity of a chat: a change of these props creates a new one. */
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
  const headersKey = typeof headers === 'function' ? 'a function' : JSON.stringify([...new Headers(headers)])
  return [api, agent, workflow, session, connection, headersKey]
}

/** Whether these props identify this chat. */
export function isChatOf(providerChat: ProviderChat, props: ProviderOptions): boolean {
  const previous = keyOf(providerChat.props)
  const next = keyOf(props)
  return previous.length === next.length && previous.every((value, i) => Object.is(value, next[i]))
}

/**
 * Creates the chat of these props. It sends no request before `start`.
 * @throws an `Error` if the `chat` or `adapter` prop is undefined and no other prop identifies a chat.
 */
export function createProviderChat(props: ProviderOptions): ProviderChat {
  const { chat, adapter, agent, workflow, session } = props
  if (chat) return { ...contextValueOf(chat, () => chat), ...controlledMessagesOf(chat), props, update: () => {} }
  if (adapter) return provideAdapterChat(props, { ...props, adapter })
  const missing = 'chat' in props ? 'chat' : 'adapter' in props ? 'adapter' : undefined
  if (missing && (agent ?? workflow ?? session) === undefined) {
    throw new Error(
      `The ${missing} of this <ChatProvider> is undefined. Create it first, or render the provider later.`,
    )
  }
  return provideHttpChat(props)
}

function provideAdapterChat(
  props: ProviderOptions,
  { messages, ...more }: ProviderOptions & AdapterChatOptions<unknown>,
): ProviderChat {
  const initialMessages = (messages as readonly ChatMessage[] | undefined) ?? more.initialMessages
  const options = { ...more, initialMessages }
  const chat = createAdapterChat(options)
  /** Arrays that `toParent` returned. */
  const reported = new WeakSet<object>()
  let last = messages
  return {
    ...contextValueOf(chat, () => (typeof document === 'undefined' ? chat : createAdapterChat(options))),
    props,
    update: latest => {
      // The chat reads it for each message.
      options.whenBusy = latest.whenBusy
      chat.callbacks = callbacksOf(latest)
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
      const chatMessages = messages.map(toChatMessage)
      reported.add(chatMessages)
      return chatMessages
    },
  }
}

function provideHttpChat(props: ProviderOptions): ProviderChat {
  const { api, agent, workflow, session, snapshot, messages, connection } = props
  const isSessionGiven = session !== undefined || snapshot !== undefined || connection?.isOfPage
  const storageKey = isSessionGiven ? undefined : storageKeyOf(api, agent ?? workflow)
  const restoredSession = storageKey && restoreSession(storageKey)
  let { headers } = props
  const options: ChatOptions = { ...props, session: session ?? restoredSession }
  if (typeof headers === 'function') {
    Object.assign(options, { headers: () => (typeof headers === 'function' ? headers() : {}) })
  }
  const create = () => {
    const chat = createChat(options)
    controlledMessagesOf(chat).show(messages)
    return chat
  }
  const chat = create()
  return {
    ...contextValueOf(chat, () => {
      const { store, state } = typeof document === 'undefined' ? chat : create()
      // A session id that was created here, or that only this tab knows, differs on the server.
      return { store, state: { ...state, sessionId: session } }
    }),
    ...controlledMessagesOf(chat),
    props,
    storageKey,
    isRestored: restoredSession !== undefined,
    update: latest => {
      const { data, whenBusy, pageSize, tools = NO_TOOLS } = latest
      headers = latest.headers
      // The chat reads them for each request.
      Object.assign(options, { data, whenBusy, pageSize })
      chat.callbacks = callbacksOf(latest)
      // Setting the tools checks all pendings, so it is done only on a change.
      if (tools !== chat.tools) chat.tools = tools
    },
  }
}

const NO_TOOLS: ClientTools = {}

/** Controlled messages of a chat with an authoritative log. */
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

function contextValueOf(chat: Chat, readInitial: () => ChatSource): ChatContextValue {
  let initial: ChatSource | undefined
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
    initial: () => {
      initial ??= readInitial()
      return initial
    },
  }
}
