import type { ChatState, MessageOf } from '@millrace/client'
import { useCallback, useMemo, useSyncExternalStore } from 'react'
import { type ChatActions, type ChatSource, useHeldChat } from '../context/chat-context.ts'

/** How a chat stands, its messages, and what it can do: whoever reads a field of it is rendered again when just that changes. */
export interface ChatHook<A = unknown> extends ChatState, ChatActions {
  /** All messages, in order. */
  readonly messages: readonly MessageOf<A>[]
  readonly isStreaming: boolean
}

type Field = keyof ChatState | 'messages' | 'isStreaming'

const read = ({ state, store }: ChatSource, field: Field): unknown => {
  if (field === 'messages') return store.messages
  return field === 'isStreaming' ? state.status === 'streaming' : state[field]
}

/** Gives one component what it asks for, and knows by that when it has to render again. */
class FieldReader {
  readonly #actions: ChatActions
  #source: ChatSource | undefined
  #read = new Map<Field, unknown>()
  #given: ChatHook | undefined

  constructor(actions: ChatActions) {
    this.#actions = actions
  }

  /** The same object until something that was read of it is another. */
  give(source: ChatSource): ChatHook {
    const isStill = ([field, value]: [Field, unknown]) => Object.is(read(source, field), value)
    if (this.#given && this.#source === source && [...this.#read].every(isStill)) return this.#given
    const fields = new Map<Field, unknown>()
    const given = { ...this.#actions }
    for (const field of [...Object.keys(source.state), 'messages', 'isStreaming'] as Field[]) {
      const get = () => {
        if (!fields.has(field)) fields.set(field, read(source, field))
        return fields.get(field)
      }
      Object.defineProperty(given, field, { get, enumerable: true })
    }
    this.#source = source
    this.#read = fields
    this.#given = given as ChatHook
    return this.#given
  }
}

/** What a chat can do; never renders again while the chat is the same. */
export const useChatActions = (): ChatActions => useHeldChat().actions

/** The chat: how it stands, its messages, and what it can do. `A` is `typeof app`, where the compiler is to know what they hold. */
export function useChat<A = unknown>(): ChatHook<A> {
  const { chat, actions, first } = useHeldChat()
  const reader = useMemo(() => new FieldReader(actions), [actions])
  const subscribe = useCallback(
    (listener: () => void) => {
      const leave = [chat.store.subscribe(['messages'], listener), chat.subscribe(listener)]
      return () => {
        for (const one of leave) one()
      }
    },
    [chat],
  )
  return useSyncExternalStore(
    subscribe,
    () => reader.give(chat),
    () => reader.give(first()),
  ) as ChatHook<A>
}
