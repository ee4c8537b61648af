import type { ChatAnswer } from '@millrace/client'
import { createContext, useContext } from 'react'

/** Sends answers for the forms, and holds the last rejection. */
export interface Answering {
  /** Resolves to whether the server accepted the answer. */
  readonly answer: (answer: ChatAnswer) => Promise<boolean>
  /** The last rejected answer. Its form may be gone: another client has answered. */
  readonly rejected: { readonly id: string; readonly message: string } | undefined
}

export const AnsweringContext = createContext<Answering | undefined>(undefined)

/** The `Answering` that `Pendings` provides. @throws outside of `Pendings` */
export function useAnswering(): Answering {
  const answering = useContext(AnsweringContext)
  if (!answering) throw new Error('Expected to be rendered inside <Pendings>.')
  return answering
}
