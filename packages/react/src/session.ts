import type { Chat, ChatState, Pending } from '@millrace/client'
import { useChatActions } from './chat.ts'
import { useChatState, useTopic } from './read.ts'

/** What waits for somebody, of all kinds or of one, and how to answer it. */
export function usePending<K extends Pending['kind'] = Pending['kind']>(
  kind?: K,
): { readonly pendings: readonly Extract<Pending, { kind: K }>[]; readonly answer: Chat['answer'] } {
  const all = useTopic(['pendings'], ({ store }) => store.pendings)
  const { answer } = useChatActions()
  const pendings = all.filter(pending => kind === undefined || pending.kind === kind)
  return { pendings: pendings as Extract<Pending, { kind: K }>[], answer }
}

/** The state that the agent shares: renders again when it changes. */
export const useAgentState = <T = unknown>(): T | undefined =>
  useTopic(['state'], ({ store }) => store.state as T | undefined)

/** How it stands with the connection, and why. */
export const useConnection = (): ChatState['connection'] => useChatState().connection
