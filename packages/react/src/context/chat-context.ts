import type { Chat } from '@millrace/client'
import { createContext, useContext } from 'react'

/** What can be shown of a chat. */
export type ChatSource = Pick<Chat, 'store' | 'state'>

/** What a chat can do; each of these is the same function for as long as the chat is the same. */
export type ChatActions = Pick<
  Chat,
  'sendMessage' | 'stop' | 'regenerate' | 'retry' | 'edit' | 'answer' | 'loadOlder' | 'clearError'
>

/** A chat, as the provider holds it. */
export interface HeldChat {
  readonly chat: Chat
  readonly actions: ChatActions
  /** The chat as it was first rendered, on the server and while its page is hydrated. */
  readonly first: () => ChatSource
}

export const ChatContext = createContext<HeldChat | undefined>(undefined)

/** What the provider around holds, if there is one. */
export const useOptionalChat = (): HeldChat | undefined => useContext(ChatContext)

/** What the provider around holds. */
export function useHeldChat(): HeldChat {
  const held = useOptionalChat()
  if (held === undefined) throw new Error('There is no chat here: put a <ChatProvider> around this component.')
  return held
}

/** The chat of the provider around: its store, its state, and all that it can do. */
export const useChatInstance = (): Chat => useHeldChat().chat
