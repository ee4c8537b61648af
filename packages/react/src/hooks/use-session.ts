import type { Chat, ChatState, Pending, StateOf } from '@millrace/client'
import { useMemo } from 'react'
import { useChatActions } from './use-chat.ts'
import { useSelected } from './use-selector.ts'
import { useStateField, useTopic } from './use-topic.ts'

type PendingOf<K extends Pending['kind']> = Extract<Pending, { kind: K }>

const isSame = (a: readonly unknown[], b: readonly unknown[]): boolean =>
  a.length === b.length && a.every((item, i) => item === b[i])

/** Result of `usePending`. */
export interface PendingHook<K extends Pending['kind'] = Pending['kind']> {
  /** Approvals, client tools and interrupts that wait for an answer. */
  readonly pendings: readonly PendingOf<K>[]
  /**
   * Answers one of them.
   * @throws a `RequestError` if the server refuses the answer, for example because another client has answered.
   */
  readonly answer: Chat['answer']
}

/**
 * The pendings of a chat, of all kinds or of one, and a function that answers them.
 * @throws an `Error` without a provider.
 */
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

/**
 * The state that agents and clients share. Rerenders when it changes. `T` is its type or `typeof app`.
 * @throws an `Error` without a provider.
 */
export const useAgentState = <T = unknown>(): StateBy<T> =>
  useTopic(['state'], ({ store }) => store.state as StateBy<T>)

/**
 * The status of the connection, with its reason. Rerenders only when it changes.
 * @throws an `Error` without a provider.
 */
export const useConnection = (): ChatState['connection'] => useStateField('connection')
