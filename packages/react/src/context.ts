import type { Chat } from '@millrace/client'
import { createContext, useContext } from 'react'

export const ChatContext = createContext<Chat | undefined>(undefined)

/** The chat of the provider around, if there is one. */
export const useOptionalChat = (): Chat | undefined => useContext(ChatContext)

/** The chat of the provider around: its store, its state, and all that it can do. */
export function useChatInstance(): Chat {
  const chat = useOptionalChat()
  if (chat === undefined) throw new Error('There is no chat here: put a <ChatProvider> around this component.')
  return chat
}
