import {
  type Store,
  type StructuredItems,
  type StructuredOf,
  type StructuredState,
  StructuredStreams,
} from '@millrace/client'
import { itemsOf } from '@millrace/client/internal'
import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react'
import { useOptionalChat } from '../context/chat-context.ts'
import { useTopic } from './use-topic.ts'

/** Result of `useStructuredStreams`. */
export interface StructuredHook extends StructuredItems {
  /** An object by its id. */
  get(streamId: string): StructuredState | undefined
  /** Hides the current objects. Later ones are shown. */
  clear(): void
  /**
   * Applies a chunk of any stream.
   * @throws a `ProtocolError` if the chunk does not fit the current value of its object.
   */
  apply(chunk: unknown): void
  /**
   * Applies the chunks of a stream, bare or in entries and envelopes, until it ends, the signal aborts, or the component unmounts.
   * @throws the error of the stream, or a `ProtocolError` for a chunk that does not fit its object.
   */
  consume(stream: AsyncIterable<unknown>, signal?: AbortSignal): Promise<void>
}

/**
 * A structured object of the chat. Rerenders only when it changes.
 * @throws an `Error` without a provider.
 */
export const useStructured = <A = unknown>(streamId: string): StructuredOf<A> | undefined =>
  useTopic(['structured', streamId], ({ store }) => store.structured(streamId) as StructuredOf<A> | undefined)

/** Structured objects in the order of their start: those of the chat, and those from `apply` or `consume`. Works without a chat, too. */
export function useStructuredStreams(): StructuredHook {
  const context = useOptionalChat()
  const [streams] = useState(() => new StructuredStreams())
  const store = context?.chat.store
  const mountedSignal = useRef<AbortSignal>(undefined)
  useEffect(() => {
    const unmount = new AbortController()
    mountedSignal.current = unmount.signal
    return () => unmount.abort()
  }, [])
  const merged = useMemo(() => new MergedStreams(streams, store, () => mountedSignal.current), [streams, store])
  const value = useSyncExternalStore(
    merged.subscribe,
    () => merged.value(store),
    () => merged.value(context?.initial().store),
  )
  return useMemo(() => ({ ...value, ...merged.actions }), [value, merged])
}

/** Merges the objects of a chat with those of `apply` and `consume`. */
class MergedStreams {
  readonly actions: Pick<StructuredHook, 'get' | 'clear' | 'apply' | 'consume'>
  readonly #own: StructuredStreams
  readonly #store: Store | undefined
  #clearedIds: ReadonlySet<string> = new Set()
  #lastValue: StructuredItems = itemsOf([])

  constructor(streams: StructuredStreams, store: Store | undefined, mountedSignal: () => AbortSignal | undefined) {
    this.#own = streams
    this.#store = store
    this.actions = {
      get: streamId => {
        const { byStreamId } = this.value(store)
        return Object.hasOwn(byStreamId, streamId) ? byStreamId[streamId] : undefined
      },
      clear: () => {
        this.#clearedIds = new Set(store?.structuredIds)
        // This notifies the listeners about the hidden objects, too.
        streams.clear()
      },
      apply: streams.apply,
      consume: (stream, signal) =>
        streams.consume(stream, AbortSignal.any([mountedSignal(), signal].filter(given => given !== undefined))),
    }
  }

  /** Returns the same object until an item changes. */
  value(store: Store | undefined): StructuredItems {
    const ids = store?.structuredIds.filter(id => !this.#clearedIds.has(id)) ?? []
    const items = [...ids.flatMap(id => store?.structured(id) ?? []), ...this.#own.value.items]
    const { items: old } = this.#lastValue
    if (old.length !== items.length || old.some((item, i) => item !== items[i])) this.#lastValue = itemsOf(items)
    return this.#lastValue
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    const store = this.#store
    const unsubscribeOwn = this.#own.subscribe(listener)
    if (store === undefined) return unsubscribeOwn
    let itemUnsubscribers: (() => void)[] = []
    const listen = () => {
      for (const unsubscribe of itemUnsubscribers) unsubscribe()
      itemUnsubscribers = store.structuredIds.map(id => store.subscribe(['structured', id], listener))
    }
    listen()
    const unsubscribeIds = store.subscribe(['structured'], () => {
      listen()
      listener()
    })
    return () => {
      for (const unsubscribe of [unsubscribeOwn, unsubscribeIds, ...itemUnsubscribers]) unsubscribe()
    }
  }
}
