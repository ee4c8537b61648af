import { type Chat, type ChatCallbacks, HttpChat, type HttpChatOptions, type Message } from '@millrace/client'
import { type ReactNode, useEffect, useState } from 'react'
import { ChatContext } from './context.ts'

interface Common extends ChatCallbacks {
  readonly children?: ReactNode
  /** Shows these messages, whatever comes: the parent keeps them, and is told by `onMessagesChange` what they should be. */
  readonly messages?: readonly Message[] | undefined
  readonly onMessagesChange?: ((messages: readonly Message[]) => void) | undefined
}

export type ChatProviderProps = Common & (HttpChatOptions | { readonly chat: Chat })

/** Gives a chat to all hooks below it: one that is handed to it, or one of its own with a server. */
export function ChatProvider(props: ChatProviderProps): ReactNode {
  const chat = useOwnChat(props)
  const { children, messages, onMessagesChange, onData, onToolCall, onFinish, onError } = props
  const tools = 'tools' in props ? props.tools : undefined
  // The latest are called, however often the parent renders.
  useEffect(() => {
    chat.callbacks = { onData, onToolCall, onFinish, onError }
    if (tools) chat.tools = tools
  })
  useEffect(() => chat.store.control(messages), [chat, messages])
  useEffect(() => {
    if (onMessagesChange) return chat.store.subscribe(['any'], () => onMessagesChange(chat.store.ownMessages))
    return undefined
  }, [chat, onMessagesChange])
  useEffect(() => chat.start(), [chat])
  return <ChatContext.Provider value={chat}>{children}</ChatContext.Provider>
}

/** What makes another chat of it when it is another. */
const keyOf = (props: ChatProviderProps): readonly unknown[] =>
  'chat' in props ? [props.chat] : [props.api, props.agent, props.workflow, props.session, props.connection]

function useOwnChat(props: ChatProviderProps): Chat {
  const key = keyOf(props)
  const make = () => ({ key, chat: 'chat' in props ? props.chat : new HttpChat(props) })
  const [held, hold] = useState(make)
  if (held.key.length === key.length && held.key.every((one, i) => Object.is(one, key[i]))) return held.chat
  const next = make()
  hold(next)
  return next.chat
}
