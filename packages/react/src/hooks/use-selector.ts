import type { ChatState, Topic } from '@millrace/client'
import { useCallback, useRef, useSyncExternalStore } from 'react'
import { type ChatSource, useChatContext } from '../context/chat-context.ts'
import { useTopicSubscription } from './use-topic.ts'

/**
 * Selects a value from a chat. Rerenders only when the value changes.
 * @param isEqual Whether two selected values are equal. @default Object.is
 * @throws an `Error` without a provider.
 */
export const useSelector = <T>(select: (source: ChatSource) => T, isEqual?: (a: T, b: T) => boolean): T =>
  useSelected(['any'], select, isEqual)

/** The last selection. Its value is reused while the inputs are the same. */
interface Selected<T> {
  readonly source: ChatSource
  readonly version: number
  readonly state: ChatState
  readonly select: (source: ChatSource) => T
  readonly value: T
}

/** Selects a value from a topic and the state of a chat. `select` may return a new object each time. */
export function useSelected<T>(
  topic: Topic,
  select: (source: ChatSource) => T,
  isEqual: (a: T, b: T) => boolean = Object.is,
): T {
  const { chat, initial } = useChatContext()
  const last = useRef<Selected<T>>(undefined)
  const subscribeTopic = useTopicSubscription(chat, topic)
  const subscribe = useCallback(
    (listener: () => void) => {
      const unsubscribers = [subscribeTopic(listener), chat.subscribe(listener)]
      return () => {
        for (const unsubscribe of unsubscribers) unsubscribe()
      }
    },
    [chat, subscribeTopic],
  )
  const get = (source: ChatSource): T => {
    const old = last.current
    const { state } = source
    const { version } = source.store
    if (old?.source === source && old.version === version && old.state === state && old.select === select) {
      return old.value
    }
    const next = select(source)
    const value = old && isEqual(old.value, next) ? old.value : next
    last.current = { source, version, state, select, value }
    return value
  }
  return useSyncExternalStore(
    subscribe,
    () => get(chat),
    () => get(initial()),
  )
}
