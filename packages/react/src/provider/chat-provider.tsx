import { type ReactNode, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { ChatContext } from '../context/chat-context.ts'
import type { ChatProviderProps, ProviderOptions } from './chat-provider-props.ts'
import { createProviderChat, isChatOf, type ProviderChat } from './provider-chat.ts'
import { isShared, registerProvider, storeSession } from './stored-session.ts'

// Bundlers replace `process.env.NODE_ENV`. Elsewhere `process` may be missing.
declare const process: { readonly env: { readonly NODE_ENV?: string } } | undefined

// React 18 warns about layout effects on a server.
const useBeforePaint = typeof document === 'undefined' ? useEffect : useLayoutEffect

/** Provides a chat to the hooks below it: of a server, of an adapter, or an existing one. */
export function ChatProvider<A = unknown>(typedProps: ChatProviderProps<A>): ReactNode {
  // The types of the app are not needed here.
  const props = typedProps as unknown as ProviderOptions
  const { held, renew } = useHeld(props)
  const { chat, storageKey, isRestored } = held
  // The latest props count, however often the parent renders.
  useBeforePaint(() => held.update(props))
  useMessagesModel(held, props)
  useBeforePaint(() => {
    if (storageKey === undefined) return
    const unregister = registerProvider(storageKey)
    if (isShared(storageKey)) {
      storeSession(storageKey)
      if (isRestored) renew(held)
    }
    return unregister
  }, [held, storageKey, isRestored, renew])
  useEffect(() => {
    const stop = chat.start()
    // A remount in the same task, as in StrictMode, keeps the chat running.
    return () => queueMicrotask(stop)
  }, [chat])
  useEffect(() => chat.subscribe(() => storeOrRenewSession(held, renew)), [held, chat, renew])
  return <ChatContext.Provider value={held}>{props.children}</ChatContext.Provider>
}

/** The chat of these props. Creates a new one when the props identify another chat, or on `renew`. */
function useHeld(props: ProviderOptions): { readonly held: ProviderChat; readonly renew: (old: ProviderChat) => void } {
  const [held, setHeld] = useState(() => createProviderChat(props))
  const latest = useRef(props)
  useBeforePaint(() => {
    latest.current = props
  })
  // Renews each chat once, even if called several times before the next render.
  const renew = useCallback(
    (old: ProviderChat) => setHeld(now => (now === old ? createProviderChat(latest.current) : now)),
    [],
  )
  if (isChatOf(held, props)) return { held, renew }
  warnIfRecreated(held, props)
  const next = createProviderChat(props)
  setHeld(next)
  return { held: next, renew }
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
function useMessagesModel(held: ProviderChat, { messages, onMessagesChange }: ProviderOptions): void {
  const { chat } = held
  const { store } = chat
  const latest = useRef(onMessagesChange)
  const last = useMemo(() => ({ ...INITIAL, own: store.ownMessages }), [store])
  useBeforePaint(() => {
    latest.current = onMessagesChange
    if (messages === last.shown) return
    // Changes before this one are reported. The change itself is not: the parent made it.
    store.flush()
    last.shown = messages
    last.isApplying = true
    last.isDeferred = held.show(messages)
    last.isApplying = false
    last.own = store.ownMessages
  })
  useBeforePaint(() => {
    const report = (isForced = false) => {
      const { ownMessages } = store
      if (ownMessages === last.own && !isForced) return
      last.own = ownMessages
      if (!last.isApplying) latest.current?.(held.toParent(ownMessages))
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
  }, [store, chat, held, last])
  useBeforePaint(
    () => () => {
      held.show(undefined)
      last.shown = undefined
    },
    [held, last],
  )
}

const INITIAL = { shown: undefined as ProviderOptions['messages'], isApplying: false, isDeferred: false }

/** Stores a session once it has content. Replaces a stored session that the server refuses. */
function storeOrRenewSession(held: ProviderChat, renew: (old: ProviderChat) => void): void {
  const { chat, storageKey, isRestored } = held
  if (storageKey === undefined) return
  const { sessionId, status, error, connection } = chat.state
  const isRefused = error?.source === 'stream' && !error.retryable && error.code !== 'unauthorized'
  if (isRestored && chat.store.head === 0 && (isRefused || connection.status === 'idle')) {
    storeSession(storageKey)
    // A message that was sent meanwhile stays visible.
    if (chat.store.ownMessages.length === 0) renew(held)
  } else if (status === 'submitted' || status === 'streaming') storeSession(storageKey, sessionId)
}
