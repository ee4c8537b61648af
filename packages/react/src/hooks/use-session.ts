import type { Chat, ChatState, Pending, StateOf } from '@millrace/client'
import { useMemo } from 'react'
import { useChatActions } from './use-chat.ts'
import { useSelected } from './use-selector.ts'
import { useStateField, useTopic } from './use-topic.ts'

type PendingOf<K extends Pending['kind']> = Extract<Pending, { kind: K }>

const isSame = (a: readonly unknown[], b: readonly unknown[]): boolean =>
  a.length === b.length && a.every((one, i) => one === b[i])

/** What waits for somebody, and how to answer it. */
export interface PendingHook<K extends Pending['kind'] = Pending['kind']> {
  readonly pendings: readonly PendingOf<K>[]
  /** Rejects where the answer is refused: somebody else was first, say. */
  readonly answer: Chat['answer']
}

/** What waits for somebody, of all kinds or of one, and how to answer it. */
export function usePending<K extends Pending['kind'] = Pending['kind']>(kind?: K): PendingHook<K> {
  const { answer } = useChatActions()
  const pendings = useSelected<readonly Pending[]>(
    ['pendings'],
    ({ store }) => (kind === undefined ? store.pendings : store.pendings.filter(pending => pending.kind === kind)),
    isSame,
  ) as readonly PendingOf<K>[]
  return useMemo(() => ({ pendings, answer }), [pendings, answer])
}

/** The state of a type, or of the app of a type. */
type StateBy<T> = '~types' extends keyof T ? StateOf<T> : T | undefined

/** The state that the agent shares: renders again when it changes. `T` is its type, or `typeof app`. */
export const useAgentState = <T = unknown>(): StateBy<T> =>
  useTopic(['state'], ({ store }) => store.state as StateBy<T>)

/** How it stands with the connection, and why: renders again when just that changes. */
export const useConnection = (): ChatState['connection'] => useStateField('connection')
