import { itemsOf, type StructuredItems, type StructuredState, StructuredStreams } from '@millrace/client'
import { useCallback, useMemo, useRef, useState, useSyncExternalStore } from 'react'
import { useOptionalChat } from './context.ts'
import { useTopic } from './read.ts'

export interface StructuredHook extends StructuredItems {
  /** One object, by its id. */
  get(streamId: string): StructuredState | undefined
  /** Shows none of those that are there: for what comes next. */
  clear(): void
  /** Takes a chunk of any stream. */
  apply(chunk: unknown): void
  /** Takes all chunks of a stream. */
  consume(stream: AsyncIterable<unknown>): Promise<void>
}

/** A structured object of the chat: renders again when just that changes. */
export const useStructured = (streamId: string): StructuredState | undefined =>
  useTopic(['structured', streamId], ({ store }) => store.structured(streamId))

/** Structured objects in the order in which they began: those of the chat around, and what is fed by `apply` or `consume`, also without a chat. */
export function useStructuredStreams(): StructuredHook {
  const store = useOptionalChat()?.store
  const [own] = useState(() => new StructuredStreams())
  const [cleared, setCleared] = useState<ReadonlySet<string>>(() => new Set())
  const last = useRef<{ of: readonly unknown[]; value: StructuredItems }>(undefined)
  const subscribe = useCallback(
    (listener: () => void) => {
      const leave = [own.subscribe(listener)]
      if (store) leave.push(store.subscribe(['any'], listener))
      return () => {
        for (const one of leave) one()
      }
    },
    [store, own],
  )
  const get = (): StructuredItems => {
    const ids = store?.structuredIds.filter(id => !cleared.has(id)) ?? []
    const items = [...ids.flatMap(id => store?.structured(id) ?? []), ...own.value.items]
    const old = last.current
    if (old && old.of.length === items.length && old.of.every((item, i) => item === items[i])) return old.value
    const value = itemsOf(items)
    last.current = { of: items, value }
    return value
  }
  const value = useSyncExternalStore(subscribe, get, get)
  const actions = useMemo(
    () => ({
      clear: () => {
        own.clear()
        setCleared(new Set(store?.structuredIds))
      },
      apply: own.apply,
      consume: own.consume,
    }),
    [own, store],
  )
  return { ...value, ...actions, get: streamId => value.items.find(item => item.streamId === streamId) }
}
