import type { Chat } from '@millrace/client'
import { createContext, useContext } from 'react'

/** The readable parts of a chat. */
export type ChatSource = Pick<Chat, 'store' | 'state'>

/** The actions of a chat. The functions are stable while the chat is the same. */
export type ChatActions = Pick<
  Chat,
  'sendMessage' | 'stop' | 'regenerate' | 'retry' | 'edit' | 'answer' | 'loadOlder' | 'clearError'
>

/** The value of the context. */
export interface ChatContextValue {
  readonly chat: Chat
  readonly actions: ChatActions
  /** The chat as it was first rendered, on the server and while its page is hydrated. */
  readonly initial: () => ChatSource
}

export const ChatContext = createContext<ChatContextValue | undefined>(undefined)

/** The nearest chat. Undefined without a provider. */
export const useOptionalChat = (): ChatContextValue | undefined => useContext(ChatContext)

/**
 * The nearest chat.
 * @throws an `Error` without a provider.
 */
export function useChatContext(): ChatContextValue {
  const value = useOptionalChat()
  if (value === undefined)
    throw new Error('Expected a chat in the context, found none: put a <ChatProvider> around this component.')
  return value
}

/**
 * The `Chat` of the nearest provider.
 * @throws an `Error` without a provider.
 */
export const useChatInstance = (): Chat => useChatContext().chat
