import type { Chat, ChatState, Pending, StateOf } from '@millrace/client'
import { useMemo } from 'react'
import { useChatActions } from './use-chat.ts'
import { useSelected } from './use-selector.ts'
import { useStateField, useTopic } from './use-topic.ts'

type PendingOf<K extends Pending['kind']> = Extract<Pending, { kind: K }>

const isSame = (a: readonly unknown[], b: readonly unknown[]): boolean =>
  a.length === b.length && a.every((one, i) => one === b[i])

/** The open requests of a chat, and the function that answers them. */
export interface PendingHook<K extends Pending['kind'] = Pending['kind']> {
  readonly pendings: readonly PendingOf<K>[]
  /** Rejects if the server refuses the answer, for example because the request is already answered. */
  readonly answer: Chat['answer']
}

/** Returns the open requests of a chat, of all kinds or of one, and a function that answers them. */
export function usePending<K extends Pending['kind'] = Pending['kind']>(kind?: K): PendingHook<K> {
  const { answer } = useChatActions()
  const pendings = useSelected<readonly Pending[]>(
    ['pendings'],
    ({ store }) => (kind === undefined ? store.pendings : store.pendings.filter(pending => pending.kind === kind)),
    isSame,
  ) as readonly PendingOf<K>[]
  return useMemo(() => ({ pendings, answer }), [pendings, answer])
}

/** `T` itself, or the state of the app `T`. */
type StateBy<T> = '~types' extends keyof T ? StateOf<T> : T | undefined

/** The state of the agent. Rerenders when it changes. `T` is its type or `typeof app`. */
export const useAgentState = <T = unknown>(): StateBy<T> =>
  useTopic(['state'], ({ store }) => store.state as StateBy<T>)

/** The state of the connection. Rerenders only when it changes. */
export const useConnection = (): ChatState['connection'] => useStateField('connection')
