import type { Chat, ChatState, Topic } from '@millrace/client'
import { useCallback, useSyncExternalStore } from 'react'
import { type ChatSource, useHeldChat } from '../context/chat-context.ts'

/** What the chat's store shows of a topic; renders again when that has changed, and not before. */
export function useTopic<T>(topic: Topic, read: (source: ChatSource) => T): T {
  const { chat, first } = useHeldChat()
  const subscribe = useTopicSubscription(chat, topic)
  return useSyncExternalStore(
    subscribe,
    () => read(chat),
    () => read(first()),
  )
}

/** A field of the chat's state; renders again when just that has changed. */
export function useStateField<K extends keyof ChatState>(name: K): ChatState[K] {
  const { chat, first } = useHeldChat()
  const subscribe = useCallback((listener: () => void) => chat.subscribe(listener), [chat])
  return useSyncExternalStore(
    subscribe,
    () => chat.state[name],
    () => first().state[name],
  )
}

/** What listens to a topic: the same function while that is the same. */
export function useTopicSubscription({ store }: Chat, topic: Topic): (listener: () => void) => () => void {
  // The same topic is another array each time: what it says is what counts.
  const [word, id, key] = topic as readonly string[]
  return useCallback(
    (listener: () => void) => {
      const names = [word, id, key].filter(name => name !== undefined)
      return store.subscribe(names as unknown as Topic, listener)
    },
    [store, word, id, key],
  )
}
