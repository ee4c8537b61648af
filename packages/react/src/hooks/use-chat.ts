import type { ChatState, MessageOf } from '@millrace/client'
import { useCallback, useMemo, useSyncExternalStore } from 'react'
import { type ChatActions, type ChatSource, useChatContext } from '../context/chat-context.ts'

/** State, messages and actions of a chat. A component rerenders only when a field that it has read changes. */
export interface ChatHook<A = unknown> extends ChatState, ChatActions {
  /** All messages, in order. */
  readonly messages: readonly MessageOf<A>[]
  /** Whether `status` is `streaming`. */
  readonly isStreaming: boolean
}

type Field = keyof ChatState | 'messages' | 'isStreaming'

const read = ({ state, store }: ChatSource, field: Field): unknown => {
  if (field === 'messages') return store.messages
  return field === 'isStreaming' ? state.status === 'streaming' : state[field]
}

/** Tracks the fields that a component reads, to know when it has to rerender. */
class FieldReader {
  readonly #actions: ChatActions
  #source: ChatSource | undefined
  #readFields = new Map<Field, unknown>()
  #hook: ChatHook | undefined

  constructor(actions: ChatActions) {
    this.#actions = actions
  }

  /** Returns the same object until a field that was read changes. */
  hookFor(source: ChatSource): ChatHook {
    const isUnchanged = ([field, value]: [Field, unknown]) => Object.is(read(source, field), value)
    if (this.#hook && this.#source === source && [...this.#readFields].every(isUnchanged)) return this.#hook
    const fields = new Map<Field, unknown>()
    const hook = { ...this.#actions }
    for (const field of [...Object.keys(source.state), 'messages', 'isStreaming'] as Field[]) {
      const get = () => {
        if (!fields.has(field)) fields.set(field, read(source, field))
        return fields.get(field)
      }
      Object.defineProperty(hook, field, { get, enumerable: true })
    }
    this.#source = source
    this.#readFields = fields
    this.#hook = hook as ChatHook
    return this.#hook
  }
}

/**
 * The actions of the chat. Never causes a rerender while the chat is the same.
 * @throws an `Error` without a provider.
 */
export const useChatActions = (): ChatActions => useChatContext().actions

/**
 * State, messages and actions of the chat. `A` is `typeof app`, for the types of its messages.
 * @throws an `Error` without a provider.
 */
export function useChat<A = unknown>(): ChatHook<A> {
  const { chat, actions, initial } = useChatContext()
  const reader = useMemo(() => new FieldReader(actions), [actions])
  const subscribe = useCallback(
    (listener: () => void) => {
      const unsubscribers = [chat.store.subscribe(['messages'], listener), chat.subscribe(listener)]
      return () => {
        for (const unsubscribe of unsubscribers) unsubscribe()
      }
    },
    [chat],
  )
  return useSyncExternalStore(
    subscribe,
    () => reader.hookFor(chat),
    () => reader.hookFor(initial()),
  ) as ChatHook<A>
}
