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

export interface StructuredHook extends StructuredItems {
  /** One object, by its id. */
  get(streamId: string): StructuredState | undefined
  /** Shows none of those that are there: for what comes next. */
  clear(): void
  /** Takes a chunk of any stream; throws where one about a structured object does not fit what is there. */
  apply(chunk: unknown): void
  /** Takes all chunks of a stream, bare or in entries and envelopes, until it ends, is to be left, or the component is gone. */
  consume(stream: AsyncIterable<unknown>, signal?: AbortSignal): Promise<void>
}

/** A structured object of the chat: renders again when just that changes. */
export const useStructured = <A = unknown>(streamId: string): StructuredOf<A> | undefined =>
  useTopic(['structured', streamId], ({ store }) => store.structured(streamId) as StructuredOf<A> | undefined)

/** Structured objects in the order in which they began: those of the chat around, and what is fed by `apply` or `consume`, also without a chat. */
export function useStructuredStreams(): StructuredHook {
  const held = useOptionalChat()
  const [own] = useState(() => new StructuredStreams())
  const store = held?.chat.store
  const here = useRef<AbortSignal>(undefined)
  useEffect(() => {
    const leaving = new AbortController()
    here.current = leaving.signal
    return () => leaving.abort()
  }, [])
  const gathering = useMemo(() => new MergedStreams(own, store, () => here.current), [own, store])
  const value = useSyncExternalStore(
    gathering.subscribe,
    () => gathering.value(store),
    () => gathering.value(held?.first().store),
  )
  return useMemo(() => ({ ...value, ...gathering.actions }), [value, gathering])
}

/** The objects of a chat and those that were fed, as one list. */
class MergedStreams {
  readonly actions: Pick<StructuredHook, 'get' | 'clear' | 'apply' | 'consume'>
  readonly #own: StructuredStreams
  readonly #store: Store | undefined
  #cleared: ReadonlySet<string> = new Set()
  #last: StructuredItems = itemsOf([])

  constructor(own: StructuredStreams, store: Store | undefined, here: () => AbortSignal | undefined) {
    this.#own = own
    this.#store = store
    this.actions = {
      get: streamId => {
        const { byStreamId } = this.value(store)
        return Object.hasOwn(byStreamId, streamId) ? byStreamId[streamId] : undefined
      },
      clear: () => {
        this.#cleared = new Set(store?.structuredIds)
        // It tells who listens, here also of what is left out from now on.
        own.clear()
      },
      apply: own.apply,
      consume: (stream, signal) =>
        own.consume(stream, AbortSignal.any([here(), signal].filter(one => one !== undefined))),
    }
  }

  /** What there is; the same object until one of them changes. */
  value(store: Store | undefined): StructuredItems {
    const ids = store?.structuredIds.filter(id => !this.#cleared.has(id)) ?? []
    const items = [...ids.flatMap(id => store?.structured(id) ?? []), ...this.#own.value.items]
    const { items: old } = this.#last
    if (old.length !== items.length || old.some((item, i) => item !== items[i])) this.#last = itemsOf(items)
    return this.#last
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    const store = this.#store
    const leaveOwn = this.#own.subscribe(listener)
    if (store === undefined) return leaveOwn
    let leaveEach: (() => void)[] = []
    const listen = () => {
      for (const leave of leaveEach) leave()
      leaveEach = store.structuredIds.map(id => store.subscribe(['structured', id], listener))
    }
    listen()
    const leaveAll = store.subscribe(['structured'], () => {
      listen()
      listener()
    })
    return () => {
      for (const leave of [leaveOwn, leaveAll, ...leaveEach]) leave()
    }
  }
}
