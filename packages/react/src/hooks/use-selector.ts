import type { ChatState, Topic } from '@millrace/client'
import { useCallback, useRef, useSyncExternalStore } from 'react'
import { type ChatSource, useHeldChat } from '../context/chat-context.ts'
import { useTopicSubscription } from './use-topic.ts'

/** Anything that can be read from a chat: renders again only when what is selected is another, by `isEqual`. */
export const useSelector = <T>(select: (source: ChatSource) => T, isEqual?: (a: T, b: T) => boolean): T =>
  useSelected(['any'], select, isEqual)

/** What was selected, and of what: as long as that is the same, so is the value. */
interface Selected<T> {
  readonly source: ChatSource
  readonly version: number
  readonly state: ChatState
  readonly select: (source: ChatSource) => T
  readonly value: T
}

/** What can be read from a topic and the state of a chat, by a function that may make it anew each time. */
export function useSelected<T>(
  topic: Topic,
  select: (source: ChatSource) => T,
  isEqual: (a: T, b: T) => boolean = Object.is,
): T {
  const { chat, first } = useHeldChat()
  const last = useRef<Selected<T>>(undefined)
  const listen = useTopicSubscription(chat, topic)
  const subscribe = useCallback(
    (listener: () => void) => {
      const leave = [listen(listener), chat.subscribe(listener)]
      return () => {
        for (const one of leave) one()
      }
    },
    [chat, listen],
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
    () => get(first()),
  )
}
