import type { ChatAnswer } from '@millrace/client'
import { createContext, useContext } from 'react'

/** How the forms answer, and what became of the last answer. */
export interface Answering {
  /** Resolves to whether it was taken. */
  readonly answer: (answer: ChatAnswer) => Promise<boolean>
  /** Why an answer was not taken: it outlives the form of it, which goes when somebody else has answered. */
  readonly refused: { readonly id: string; readonly words: string } | undefined
}

export const AnsweringContext = createContext<Answering | undefined>(undefined)

/** Of what `Pendings` gives to its forms. */
export function useAnswering(): Answering {
  const answering = useContext(AnsweringContext)
  if (!answering) throw new Error('A form that answers stands among what the run waits for.')
  return answering
}
