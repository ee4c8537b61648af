import { type ReactNode, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { ChatContext } from '../context/chat-context.ts'
import type { ChatProviderProps, ProviderOptions } from './chat-provider-props.ts'
import { createProviderChat, isChatOf, type ProviderChat } from './provider-chat.ts'
import { isShared, registerProvider, storeSession } from './stored-session.ts'

// Bundlers replace `process.env.NODE_ENV`. Elsewhere `process` may be missing.
declare const process: { readonly env: { readonly NODE_ENV?: string } } | undefined

// React 18 warns about layout effects on a server.
const useBeforePaint = typeof document === 'undefined' ? useEffect : useLayoutEffect

/**
 * Provides a chat to the hooks below it: of a server, of an adapter, or an existing one.
 * @throws an `Error` if the `chat` or `adapter` prop is undefined and no other prop identifies a chat.
 */
export function ChatProvider<A = unknown>(typedProps: ChatProviderProps<A>): ReactNode {
  // The types of the app are not needed here.
  const props = typedProps as unknown as ProviderOptions
  const { providerChat, renew } = useProviderChat(props)
  const { chat, storageKey, isRestored } = providerChat
  // After each render, so that the latest props apply.
  useBeforePaint(() => providerChat.update(props))
  useControlledMessages(providerChat, props)
  useBeforePaint(() => {
    if (storageKey === undefined) return
    const unregister = registerProvider(storageKey)
    if (isShared(storageKey)) {
      storeSession(storageKey)
      if (isRestored) renew(providerChat)
    }
    return unregister
  }, [providerChat, storageKey, isRestored, renew])
  useEffect(() => {
    const stop = chat.start()
    // A remount in the same task, as in StrictMode, keeps the chat running.
    return () => queueMicrotask(stop)
  }, [chat])
  useEffect(() => chat.subscribe(() => storeOrRenewSession(providerChat, renew)), [providerChat, chat, renew])
  return <ChatContext.Provider value={providerChat}>{props.children}</ChatContext.Provider>
}

/** The chat of these props. Creates a new one when the props identify another chat, or on `renew`. */
function useProviderChat(props: ProviderOptions): {
  readonly providerChat: ProviderChat
  readonly renew: (old: ProviderChat) => void
} {
  const [providerChat, setProviderChat] = useState(() => createProviderChat(props))
  const latest = useRef(props)
  useBeforePaint(() => {
    latest.current = props
  })
  // Renews each chat once, even if called several times before the next render.
  const renew = useCallback(
    (old: ProviderChat) => setProviderChat(current => (current === old ? createProviderChat(latest.current) : current)),
    [],
  )
  if (isChatOf(providerChat, props)) return { providerChat, renew }
  warnIfRecreated(providerChat, props)
  const next = createProviderChat(props)
  setProviderChat(next)
  return { providerChat: next, renew }
}

/** Warns about an adapter or a connection that is created during render: each render would start a new chat. */
function warnIfRecreated(
  { props, chat }: ProviderChat,
  { adapter, conversationId, connection, session }: ProviderOptions,
): void {
  if (typeof process === 'undefined' || process.env.NODE_ENV === 'production') return
  const isOtherAdapter =
    props.adapter && adapter && props.adapter !== adapter && props.conversationId === conversationId
  const isOtherConnection =
    props.connection && connection && props.connection !== connection && props.session === session
  if (!(isOtherAdapter || isOtherConnection) || chat.store.ownMessages.length === 0) return
  const propName = isOtherAdapter ? 'adapter' : 'connection'
  const name = isOtherAdapter ? 'conversationId' : 'session'
  console.warn(
    `<ChatProvider> got a new ${propName} and started a new chat. Create the ${propName} outside of the component or with useState. To start a new chat on purpose, change ${name} or key.`,
  )
}

/** Applies the messages of the parent, and calls `onMessagesChange`. */
function useControlledMessages(providerChat: ProviderChat, { messages, onMessagesChange }: ProviderOptions): void {
  const { chat } = providerChat
  const { store } = chat
  const latest = useRef(onMessagesChange)
  const last = useMemo(() => ({ ...INITIAL, ownMessages: store.ownMessages }), [store])
  useBeforePaint(() => {
    latest.current = onMessagesChange
    if (messages === last.messages) return
    // Changes before this one are reported. The change itself is not: the parent made it.
    store.flush()
    last.messages = messages
    last.isApplying = true
    last.isDeferred = providerChat.show(messages)
    last.isApplying = false
    last.ownMessages = store.ownMessages
  })
  useBeforePaint(() => {
    const report = (isForced = false) => {
      const { ownMessages } = store
      if (ownMessages === last.ownMessages && !isForced) return
      last.ownMessages = ownMessages
      if (!last.isApplying) latest.current?.(providerChat.toParent(ownMessages))
    }
    // Messages that the parent set during a reply were not applied. It may set them again after the reply.
    const onRunEnd = () => {
      if (!last.isDeferred || chat.state.runId !== undefined) return
      last.isDeferred = false
      store.flush()
      report(true)
    }
    // A child component may have sent a message before this effect.
    report()
    const unsubscribers = [store.subscribe(['messages'], () => report()), chat.subscribe(onRunEnd)]
    return () => {
      for (const unsubscribe of unsubscribers) unsubscribe()
    }
  }, [store, chat, providerChat, last])
  useBeforePaint(
    () => () => {
      providerChat.show(undefined)
      last.messages = undefined
    },
    [providerChat, last],
  )
}

const INITIAL = { messages: undefined as ProviderOptions['messages'], isApplying: false, isDeferred: false }

/** Stores a session once it has content. Replaces a stored session that the server refuses. */
function storeOrRenewSession(providerChat: ProviderChat, renew: (old: ProviderChat) => void): void {
  const { chat, storageKey, isRestored } = providerChat
  if (storageKey === undefined) return
  const { sessionId, status, error, connection } = chat.state
  const isRefused = error?.source === 'stream' && !error.retryable && error.code !== 'unauthorized'
  if (isRestored && chat.store.head === 0 && (isRefused || connection.status === 'idle')) {
    storeSession(storageKey)
    // A message that was sent meanwhile stays visible.
    if (chat.store.ownMessages.length === 0) renew(providerChat)
  } else if (status === 'submitted' || status === 'streaming') storeSession(storageKey, sessionId)
}
