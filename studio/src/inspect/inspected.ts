import type { SessionLog } from '@millrace/react/log'
import { createContext, useContext } from 'react'

const Context = createContext<SessionLog | undefined>(undefined)

export const InspectedProvider = Context.Provider

/** The log that the inspector around shows. */
export function useInspected(): SessionLog {
  const log = useContext(Context)
  if (log === undefined) throw new Error('Nothing is inspected here: put an InspectedProvider around this.')
  return log
}
