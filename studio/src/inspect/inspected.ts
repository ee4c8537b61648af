import type { Entry } from '@millrace/protocol'
import { type SessionLog, useLogState } from '@millrace/react/log'
import { createContext, useContext, useMemo } from 'react'

const Context = createContext<SessionLog | undefined>(undefined)

export const InspectedProvider = Context.Provider

/** The log that the inspector around shows. */
export function useInspected(): SessionLog {
  const log = useContext(Context)
  if (log === undefined) throw new Error('Nothing is inspected here: put an InspectedProvider around this.')
  return log
}

/** Makes something of a log as it comes: takes the entries up to a number of them that it has not taken yet. */
interface Taking {
  take(entries: readonly Entry[], count: number): void
}

/** What is made of the entries that have come; it is the same object for as long as the log goes on, `count` says how far. */
export function useTaken<T extends Taking>(make: () => T): { readonly taken: T; readonly count: number } {
  const log = useInspected()
  const { count } = useLogState(log)
  const { entries } = log
  // A log that begins anew has another array.
  // biome-ignore lint/correctness/useExhaustiveDependencies: one for each log
  const taken = useMemo(make, [entries])
  taken.take(entries, Math.min(count, entries.length))
  return { taken, count }
}
