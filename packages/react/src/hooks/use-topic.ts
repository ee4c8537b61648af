import type { Chat, ChatState, Topic } from '@millrace/client'
import { useCallback, useSyncExternalStore } from 'react'
import { type ChatSource, useChatContext } from '../context/chat-context.ts'

/** Reads a topic of the store. Rerenders only when the topic changes. */
export function useTopic<T>(topic: Topic, read: (source: ChatSource) => T): T {
  const { chat, initial } = useChatContext()
  const subscribe = useTopicSubscription(chat, topic)
  return useSyncExternalStore(
    subscribe,
    () => read(chat),
    () => read(initial()),
  )
}

/** A field of the state of the chat. Rerenders only when it changes. */
export function useStateField<K extends keyof ChatState>(name: K): ChatState[K] {
  const { chat, initial } = useChatContext()
  const subscribe = useCallback((listener: () => void) => chat.subscribe(listener), [chat])
  return useSyncExternalStore(
    subscribe,
    () => chat.state[name],
    () => initial().state[name],
  )
}

/** A stable subscribe function for a topic. */
export function useTopicSubscription({ store }: Chat, topic: Topic): (listener: () => void) => () => void {
  // Callers create a new array for each render, so its items are compared.
  const [kind, id, key] = topic as readonly string[]
  return useCallback(
    (listener: () => void) => {
      const names = [kind, id, key].filter(name => name !== undefined)
      return store.subscribe(names as unknown as Topic, listener)
    },
    [store, kind, id, key],
  )
}
