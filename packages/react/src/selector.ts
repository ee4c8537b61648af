import type { Chat } from '@millrace/client'
import { useCallback, useRef, useSyncExternalStore } from 'react'
import { useChatInstance } from './context.ts'

/** Anything that can be read from a chat: renders again only when what is selected is another. */
export function useSelector<T>(select: (chat: Chat) => T, isEqual: (a: T, b: T) => boolean = Object.is): T {
  const chat = useChatInstance()
  const last = useRef<{ chat: Chat; version: number; state: Chat['state']; select: typeof select; value: T }>(undefined)
  const subscribe = useCallback(
    (listener: () => void) => {
      const leave = [chat.store.subscribe(['any'], listener), chat.subscribe(listener)]
      return () => {
        for (const one of leave) one()
      }
    },
    [chat],
  )
  const get = (): T => {
    const old = last.current
    const now = { chat, version: chat.store.version, state: chat.state, select }
    if (old && old.chat === chat && old.version === now.version && old.state === now.state && old.select === select) {
      return old.value
    }
    const value = select(chat)
    const kept = old && old.chat === chat && isEqual(old.value, value) ? old.value : value
    last.current = { ...now, value: kept }
    return kept
  }
  return useSyncExternalStore(subscribe, get, get)
}
