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
export interface HeldChat {
  readonly chat: Chat
  readonly actions: ChatActions
  /** The chat as it was first rendered, on the server and while its page is hydrated. */
  readonly first: () => ChatSource
}

export const ChatContext = createContext<HeldChat | undefined>(undefined)

/** The nearest chat. Undefined without a provider. */
export const useOptionalChat = (): HeldChat | undefined => useContext(ChatContext)

/**
 * The nearest chat.
 * @throws an `Error` without a provider.
 */
export function useHeldChat(): HeldChat {
  const held = useOptionalChat()
  if (held === undefined) throw new Error('There is no chat here: put a <ChatProvider> around this component.')
  return held
}

/**
 * The `Chat` of the nearest provider.
 * @throws an `Error` without a provider.
 */
export const useChatInstance = (): Chat => useHeldChat().chat
