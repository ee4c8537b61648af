import { type ReactNode, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { ChatContext } from '../context/chat-context.ts'
import { createProviderChat, isChatOf, type ProviderChat } from './held-chat.ts'
import type { ChatProviderProps, ProviderOptions } from './props.ts'
import { enter, isShared, remember } from './remembered-session.ts'

// Bundlers put a word in its place; elsewhere there may be none.
declare const process: { readonly env: { readonly NODE_ENV?: string } } | undefined

// On a server there is no layout, and React 18 would say so each time.
const useBeforePaint = typeof document === 'undefined' ? useEffect : useLayoutEffect

/** Gives a chat to all hooks below it: that of a server, of an adapter, or one that is handed to it. */
export function ChatProvider<A = unknown>(given: ChatProviderProps<A>): ReactNode {
  // What the compiler knows of an app nobody needs here.
  const props = given as unknown as ProviderOptions
  const { held, renew } = useHeld(props)
  const { chat, place, isFound } = held
  // What was given last counts, however often the parent renders.
  useBeforePaint(() => held.update(props))
  useMessagesModel(held, props)
  useBeforePaint(() => {
    if (place === undefined) return
    const leave = enter(place)
    if (isShared(place)) {
      remember(place)
      if (isFound) renew(held)
    }
    return leave
  }, [held, place, isFound, renew])
  useEffect(() => {
    const leave = chat.start()
    // Whoever comes back at once, as in StrictMode, finds it still under way.
    return () => queueMicrotask(leave)
  }, [chat])
  useEffect(() => chat.subscribe(() => keep(held, renew)), [held, chat, renew])
  return <ChatContext.Provider value={held}>{props.children}</ChatContext.Provider>
}

/** The chat of these props; another one when they are about another, or when it is to be begun anew. */
function useHeld(props: ProviderOptions): { readonly held: ProviderChat; readonly renew: (old: ProviderChat) => void } {
  const [held, setHeld] = useState(() => createProviderChat(props))
  const latest = useRef(props)
  useBeforePaint(() => {
    latest.current = props
  })
  // Only once for each: it may be told of several times before another is there.
  const renew = useCallback(
    (old: ProviderChat) => setHeld(now => (now === old ? createProviderChat(latest.current) : now)),
    [],
  )
  if (isChatOf(held, props)) return { held, renew }
  warn(held, props)
  const next = createProviderChat(props)
  setHeld(next)
  return { held: next, renew }
}

/** What is made while rendering is another each time, and so is its chat: that is rarely meant. */
function warn({ given, chat }: ProviderChat, { adapter, conversationId, connection, session }: ProviderOptions): void {
  if (typeof process === 'undefined' || process.env.NODE_ENV === 'production') return
  const isOther = given.adapter && adapter && given.adapter !== adapter && given.conversationId === conversationId
  const isElsewhere = given.connection && connection && given.connection !== connection && given.session === session
  if (!(isOther || isElsewhere) || chat.store.ownMessages.length === 0) return
  const what = isOther ? 'adapter' : 'connection'
  const name = isOther ? 'conversationId' : 'session'
  console.warn(
    `A <ChatProvider> was given another ${what}, and begins a new chat: make the ${what} outside of the component, or with useState. If another chat is meant, give it another ${name} or a key.`,
  )
}

/** Has what the parent says shown, and tells it what it should say. */
function useMessagesModel(held: ProviderChat, { messages, onMessagesChange }: ProviderOptions): void {
  const { chat } = held
  const { store } = chat
  const latest = useRef(onMessagesChange)
  const last = useMemo(() => ({ ...FIRST, own: store.ownMessages }), [store])
  useBeforePaint(() => {
    latest.current = onMessagesChange
    if (messages === last.shown) return
    // What came before it is told, what comes of it is not: the parent knows.
    store.flush()
    last.shown = messages
    last.isQuiet = true
    last.isWaiting = held.show(messages)
    last.isQuiet = false
    last.own = store.ownMessages
  })
  useBeforePaint(() => {
    const tell = (isAgain = false) => {
      const { ownMessages } = store
      if (ownMessages === last.own && !isAgain) return
      last.own = ownMessages
      if (!last.isQuiet) latest.current?.(held.told(ownMessages))
    }
    // What the parent said of a reply while it came was too early: it may say it again.
    const ended = () => {
      if (!last.isWaiting || chat.state.runId !== undefined) return
      last.isWaiting = false
      store.flush()
      tell(true)
    }
    // Something may have been said before anybody listened, by a component below.
    tell()
    const leave = [store.subscribe(['messages'], () => tell()), chat.subscribe(ended)]
    return () => {
      for (const one of leave) one()
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

/** What the parent says at first, and what becomes of it. */
const FIRST = { shown: undefined as ProviderOptions['messages'], isQuiet: false, isWaiting: false }

/** Remembers a session as soon as there is something in it, and begins a new one in place of one that is not to be had. */
function keep(held: ProviderChat, renew: (old: ProviderChat) => void): void {
  const { chat, place, isFound } = held
  if (place === undefined) return
  const { sessionId, status, error, connection } = chat.state
  const isRefused = error?.source === 'stream' && !error.retryable && error.code !== 'unauthorized'
  if (isFound && chat.store.head === 0 && (isRefused || connection.status === 'idle')) {
    remember(place)
    // What somebody has said meanwhile stays to be seen.
    if (chat.store.ownMessages.length === 0) renew(held)
  } else if (status === 'submitted' || status === 'streaming') remember(place, sessionId)
}
