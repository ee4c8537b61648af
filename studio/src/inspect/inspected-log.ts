import type { Entry } from '@millrace/protocol'
import { type SessionLog, useLogState } from '@millrace/react/log'
import { createContext, useContext, useMemo } from 'react'

const Context = createContext<SessionLog | undefined>(undefined)

export const InspectedLogProvider = Context.Provider

/** The log that the inspector shows. @throws outside of an InspectedLogProvider */
export function useInspectedLog(): SessionLog {
  const log = useContext(Context)
  if (log === undefined) throw new Error('Expected to be rendered inside <InspectedLogProvider>.')
  return log
}

/** Processes a growing log: `take` consumes the entries up to `count` that it has not seen yet. */
interface LogConsumer {
  take(entries: readonly Entry[], count: number): void
}

/** Feeds the log to a consumer as it grows. The consumer stays the same object while the log continues; `count` says how far it is. */
export function useLogConsumer<T extends LogConsumer>(make: () => T): { readonly consumer: T; readonly count: number } {
  const log = useInspectedLog()
  const { count } = useLogState(log)
  const { entries } = log
  // A log that restarts has a new array.
  // biome-ignore lint/correctness/useExhaustiveDependencies: one for each log
  const consumer = useMemo(make, [entries])
  consumer.take(entries, Math.min(count, entries.length))
  return { consumer, count }
}
