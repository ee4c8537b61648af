import type { Message } from '@millrace/client'
import { type ReactNode, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { ChatContext } from './context.ts'
import { type Given, type Held, hold, isOf } from './hold.ts'
import { remember } from './remember.ts'

/** `A` is `typeof app`, where the compiler is to know what the server has. */
export type ChatProviderProps<A = unknown, Cursor = string> = Given<A, Cursor> & {
  readonly children?: ReactNode
  /** Told of all messages whenever one of them is another. */
  readonly onMessagesChange?: ((messages: readonly Message[]) => void) | undefined
}

type Props = ChatProviderProps<unknown, unknown>

// On a server there is no layout, and React 18 would say so each time.
const useBeforePaint = typeof document === 'undefined' ? useEffect : useLayoutEffect

/** Gives a chat to all hooks below it: that of a server, of an adapter, or one that is handed to it. */
export function ChatProvider<A = unknown, Cursor = string>(given: ChatProviderProps<A, Cursor>): ReactNode {
  // What it pages by is the adapter's own affair, and what the compiler knows of an app nobody needs here.
  const props = given as unknown as Props
  const held = useHeld(props)
  const { chat } = held
  // What was given last counts, however often the parent renders.
  useBeforePaint(() => held.update(props))
  useBeforePaint(() => held.release, [held])
  useMessagesModel(held, props)
  useEffect(() => {
    const leave = chat.start()
    // Whoever comes back at once, as in StrictMode, finds it still under way.
    return () => queueMicrotask(leave)
  }, [chat])
  useEffect(() => chat.subscribe(() => keep(held)), [held, chat])
  return <ChatContext.Provider value={held}>{props.children}</ChatContext.Provider>
}

/** The chat of these props; another one when they are about another. */
function useHeld(props: Props): Held {
  const [held, setHeld] = useState(() => hold(props))
  if (isOf(held, props)) return held
  const next = hold(props)
  setHeld(next)
  return next
}

/** Shows what the parent says, and tells it what it should say. */
function useMessagesModel({ chat: { store } }: Held, { messages, onMessagesChange }: Props): void {
  const latest = useRef(onMessagesChange)
  const told = useMemo(() => ({ messages: store.ownMessages }), [store])
  useBeforePaint(() => {
    latest.current = onMessagesChange
    store.control(messages)
  })
  useBeforePaint(() => {
    const tell = () => {
      const own = store.ownMessages
      if (own === told.messages) return
      told.messages = own
      latest.current?.(own)
    }
    // Something may have been said before anybody listened, by a component below.
    tell()
    return store.subscribe(['messages'], tell)
  }, [store, told])
}

/** Remembers a session as soon as there is something in it, and forgets one that is not to be had. */
function keep({ chat, place }: Held): void {
  const { sessionId, status, error } = chat.state
  if (place === undefined) return
  if (error?.source === 'stream' && !error.retryable && chat.store.head === 0) remember(place, undefined)
  else if (status === 'submitted' || status === 'streaming') remember(place, sessionId)
}
