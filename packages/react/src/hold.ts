import {
  AdapterChat,
  type AdapterChatOptions,
  type Chat,
  type ChatCallbacks,
  type ClientTools,
  type ClientToolsOf,
  HttpChat,
  type HttpChatOptions,
  type Message,
  toChatMessage,
} from '@millrace/client'
import type { ChatSource, HeldChat } from './context.ts'
import { latestHeaders, replaceHeaders } from './headers.ts'
import { recall } from './remember.ts'

/** Whose chat it is: that of a server, of an adapter, or one that exists already. */
type Choice<A, Cursor> =
  | Omit<HttpChatOptions<A>, keyof ChatCallbacks | 'tools'>
  | Omit<AdapterChatOptions<Cursor>, keyof ChatCallbacks>
  | { readonly chat: Chat }

/** What a provider is given for its chat. `A` is `typeof app`, where the compiler is to know what the server has. */
export type Given<A = unknown, Cursor = unknown> = Choice<A, Cursor> &
  ChatCallbacks<A> & {
    /** What this client can run for agents. */
    readonly tools?: ClientToolsOf<A> | undefined
    /** Shows these messages and no others: the parent keeps them, and is told by `onMessagesChange` what they should be. */
    readonly messages?: readonly Message[] | undefined
  }

/** A chat, and what it was made of. */
export interface Held extends HeldChat {
  readonly given: Given
  /** Where the tab remembers its session; nowhere, if it was named, or is none of a server's. */
  readonly place?: HttpChatOptions | undefined
  /** Has it use what is given now. */
  update(given: Given): void
  /** Leaves a chat that was handed over as it was. */
  release?(): void
}

/** What makes another chat of it when it is another. */
const keyOf = (given: Given): readonly unknown[] => {
  if ('chat' in given) return [given.chat]
  if ('adapter' in given) return [given.adapter, given.conversationId]
  return [given.api, given.agent, given.workflow, given.session, given.connection, given.headers === undefined]
}

/** Whether it is the chat of these. */
export function isOf(held: Held, given: Given): boolean {
  const before = keyOf(held.given)
  const now = keyOf(given)
  return before.length === now.length && before.every((one, i) => Object.is(one, now[i]))
}

/** The chat of these: it asks for nothing, and listens to nothing, before it is started. */
export function hold(given: Given): Held {
  if ('chat' in given) return holdHanded(given)
  return 'adapter' in given ? holdAdapter(given) : holdHttp(given)
}

function holdHanded(given: Extract<Given, { chat: Chat }>): Held {
  const { chat, messages } = given
  const { callbacks, tools } = chat
  if (messages) chat.store.control(messages)
  return {
    ...heldOf(chat, () => chat),
    given,
    update: now => {
      chat.callbacks = { ...callbacks, ...callbacksOf(now) }
      setTools(chat, now.tools ?? tools)
    },
    release: () => {
      chat.callbacks = callbacks
      setTools(chat, tools)
      chat.store.control(undefined)
    },
  }
}

function holdAdapter(given: Extract<Given, { adapter: object }>): Held {
  const { messages, initialMessages = messages?.map(toChatMessage) } = given
  const options = { ...given, initialMessages }
  const make = () => {
    const chat = shown(new AdapterChat(options), messages)
    // A server renders only once: what there is already is told at once.
    if (initialMessages) chat.store.flush()
    return chat
  }
  const chat = make()
  return {
    ...heldOf(chat, () => (typeof document === 'undefined' ? chat : make())),
    given,
    update: now => {
      // The chat asks for it each time.
      options.whenBusy = (now as AdapterChatOptions).whenBusy
      chat.callbacks = callbacksOf(now)
    },
  }
}

function holdHttp(given: Exclude<Given, { chat: Chat } | { adapter: object }>): Held {
  const { headers, messages } = given
  const place = given.session === undefined && given.snapshot === undefined ? given : undefined
  const session = given.session ?? (place && recall(place))
  const latest = headers && latestHeaders(headers)
  const options: HttpChatOptions = { ...given, session, ...(latest && { headers: latest.get }) }
  const make = () => shown(new HttpChat(options), messages)
  const chat = make()
  return {
    ...heldOf(chat, () => {
      const { store, state } = typeof document === 'undefined' ? chat : make()
      // A name that was thought of here, or that only this tab knows, is another on the server.
      return { store, state: { ...state, sessionId: given.session } }
    }),
    given,
    place,
    update: now => {
      const { data, whenBusy, pageSize, headers, tools = NONE } = now as HttpChatOptions
      // The chat asks for them each time.
      Object.assign(options, { data, whenBusy, pageSize })
      if (latest && headers && headers !== latest.current) replaceHeaders(latest, headers)
      chat.callbacks = callbacksOf(now)
      setTools(chat, tools)
    },
  }
}

const NONE: ClientTools = {}

function shown<C extends Chat>(chat: C, messages: readonly Message[] | undefined): C {
  if (messages) chat.store.control(messages)
  return chat
}

function setTools(chat: Chat, tools: ClientTools): void {
  // The chat looks each time for what waits for one of them.
  if (tools !== chat.tools) chat.tools = tools
}

/** The callbacks among these; what is not given is left out. */
const callbacksOf = ({ onData, onToolCall, onFinish, onError }: ChatCallbacks): ChatCallbacks => ({
  ...(onData && { onData }),
  ...(onToolCall && { onToolCall }),
  ...(onFinish && { onFinish }),
  ...(onError && { onError }),
})

function heldOf(chat: Chat, readFirst: () => ChatSource): HeldChat {
  let first: ChatSource | undefined
  return {
    chat,
    actions: {
      send: chat.send.bind(chat),
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
