import type { Chat, Topic } from '@millrace/client'
import { useCallback, useSyncExternalStore } from 'react'
import { useChatInstance } from './context.ts'

/** What the chat's store shows of a topic; renders again when that has changed, and not before. */
export function useTopic<T>(topic: Topic, read: (chat: Chat) => T): T {
  const chat = useChatInstance()
  // The same topic is another array each time: what it says is what counts.
  const [word, first, second] = topic as readonly string[]
  const subscribe = useCallback(
    (listener: () => void) => {
      const names = [word, first, second].filter(name => name !== undefined)
      return chat.store.subscribe(names as unknown as Topic, listener)
    },
    [chat, word, first, second],
  )
  const get = () => read(chat)
  return useSyncExternalStore(subscribe, get, get)
}

/** The state of the chat, beside its messages. */
export function useChatState(): Chat['state'] {
  const chat = useChatInstance()
  const subscribe = useCallback((listener: () => void) => chat.subscribe(listener), [chat])
  const get = () => chat.state
  return useSyncExternalStore(subscribe, get, get)
}
