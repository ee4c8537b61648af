import {
  type Chat,
  type ChatCallbacks,
  type ClientTools,
  HttpChat,
  type HttpChatOptions,
  type Message,
} from '@millrace/client'
import type { ChatSource, HeldChat } from './context.ts'
import { latestHeaders, replaceHeaders } from './headers.ts'
import { recall } from './remember.ts'

/** Whose chat it is: that of a server, or one that exists already. */
export type ChatChoice = HttpChatOptions | { readonly chat: Chat }

/** What a provider is given for its chat. */
export type Given = ChatChoice &
  ChatCallbacks & {
    /** What this client can run for agents. */
    readonly tools?: ClientTools | undefined
    /** Shows these messages and no others: the parent keeps them, and is told by `onMessagesChange` what they should be. */
    readonly messages?: readonly Message[] | undefined
  }

/** A chat, and what it was made of. */
export interface Held extends HeldChat {
  readonly given: Given
  /** Where the tab remembers its session; nowhere, if it has a name or is somebody else's. */
  readonly place: HttpChatOptions | undefined
  /** Has it use what is given now. */
  update(given: Given): void
  /** Leaves a chat that was handed over as it was. */
  release(): void
}

/** What makes another chat of it when it is another. */
const keyOf = (given: Given): readonly unknown[] => {
  if ('chat' in given) return [given.chat]
  return [given.api, given.agent, given.workflow, given.session, given.connection, given.headers === undefined]
}

/** Whether it is the chat of these. */
export function isOf(held: Held, given: Given): boolean {
  const before = keyOf(held.given)
  const now = keyOf(given)
  return before.length === now.length && before.every((one, i) => Object.is(one, now[i]))
}

/** The chat of these: makes no request, and listens to nothing. */
export function hold(given: Given): Held {
  return 'chat' in given ? holdGiven(given) : holdOwn(given)
}

function holdGiven(given: Extract<Given, { chat: Chat }>): Held {
  const { chat, messages } = given
  const { callbacks, tools } = chat
  if (messages) chat.store.control(messages)
  return {
    ...heldOf(chat, () => chat),
    given,
    place: undefined,
    update: now => {
      chat.callbacks = { ...callbacks, ...callbacksOf(now) }
      setTools(chat, now.tools ?? tools)
    },
    release: () => {
      chat.callbacks = callbacks
      chat.tools = tools
      chat.store.control(undefined)
    },
  }
}

function holdOwn(given: Exclude<Given, { chat: Chat }>): Held {
  const { headers, messages } = given
  const place = given.session === undefined && given.snapshot === undefined ? given : undefined
  const session = given.session ?? (place && recall(place))
  const latest = headers && latestHeaders(headers)
  // The chat asks for these each time: `update` puts the latest in their place.
  const options: HttpChatOptions = { ...given, session, ...(latest && { headers: latest.get }) }
  const make = () => {
    const chat = new HttpChat(options)
    if (messages) chat.store.control(messages)
    return chat
  }
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
      Object.assign(options, { data, whenBusy, pageSize })
      if (latest && headers && headers !== latest.current) replaceHeaders(latest, headers)
      chat.callbacks = callbacksOf(now)
      setTools(chat, tools)
    },
    release: () => {},
  }
}

const NONE: ClientTools = {}

function setTools(chat: Chat, tools: ClientTools): void {
  // The chat looks for what waits for one of them each time.
  if (tools !== chat.tools) chat.tools = tools
}

/** The callbacks among these; what is not given is left out. */
function callbacksOf({ onData, onToolCall, onFinish, onError }: ChatCallbacks): ChatCallbacks {
  return {
    ...(onData && { onData }),
    ...(onToolCall && { onToolCall }),
    ...(onFinish && { onFinish }),
    ...(onError && { onError }),
  }
}

function heldOf(chat: Chat, read: () => ChatSource): HeldChat {
  let first: ChatSource | undefined
  const actions = {
    send: chat.send.bind(chat),
    stop: chat.stop.bind(chat),
    regenerate: chat.regenerate.bind(chat),
    retry: chat.retry.bind(chat),
    edit: chat.edit.bind(chat),
    answer: chat.answer.bind(chat),
    loadOlder: chat.loadOlder.bind(chat),
    clearError: chat.clearError.bind(chat),
  }
  return {
    chat,
    actions,
    first: () => {
      first ??= read()
      return first
    },
  }
}
