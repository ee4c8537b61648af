import type { Chat, ChatState, Message } from '@millrace/client'
import { useCallback, useMemo, useRef, useSyncExternalStore } from 'react'
import { useChatInstance } from './context.ts'
import { useChatState } from './read.ts'

/** What a chat can do; each of these is the same function for as long as the chat is the same. */
export type ChatActions = Pick<
  Chat,
  'send' | 'stop' | 'regenerate' | 'retry' | 'edit' | 'answer' | 'loadOlder' | 'clearError'
>

export interface ChatHook extends ChatState, ChatActions {
  /** All messages. Only who reads this is rendered again when one of them changes. */
  readonly messages: readonly Message[]
  readonly isStreaming: boolean
}

/** What a chat can do. */
export function useChatActions(): ChatActions {
  const chat = useChatInstance()
  return useMemo(
    () => ({
      send: chat.send.bind(chat),
      stop: chat.stop.bind(chat),
      regenerate: chat.regenerate.bind(chat),
      retry: chat.retry.bind(chat),
      edit: chat.edit.bind(chat),
      answer: chat.answer.bind(chat),
      loadOlder: chat.loadOlder.bind(chat),
      clearError: chat.clearError.bind(chat),
    }),
    [chat],
  )
}

/** The chat: how it stands, what it can do, and its messages. */
export function useChat(): ChatHook {
  const { store } = useChatInstance()
  const actions = useChatActions()
  const state = useChatState()
  const isRead = useRef(false)
  const subscribe = useCallback((listener: () => void) => store.subscribe(['messages'], listener), [store])
  const get = () => (isRead.current ? store.messages : undefined)
  useSyncExternalStore(subscribe, get, get)
  return {
    ...actions,
    ...state,
    isStreaming: state.status === 'streaming',
    // Who never asks for the messages is not rendered again for each of their words.
    get messages() {
      isRead.current = true
      return store.messages
    },
  }
}
