import type { ChatConnection } from '@millrace/client'
import { type Recording, SessionLog, type SessionLogState } from '@millrace/client/log'
import { useCallback, useEffect, useMemo, useSyncExternalStore } from 'react'

/** The log of a session, followed while the component is mounted, or the log of a recording. */
export function useLog(
  source: { readonly session: string; readonly connection: ChatConnection } | { readonly recording: Recording },
): SessionLog {
  const { session, connection } = 'session' in source ? source : { session: '', connection: undefined }
  const recording = 'recording' in source ? source.recording : undefined
  const log = useMemo(
    () => new SessionLog(recording ?? { sessionId: session, connection }),
    [recording, session, connection],
  )
  useEffect(() => {
    const stop = log.start()
    // A remount in the same task, as in StrictMode, keeps the log running.
    return () => queueMicrotask(stop)
  }, [log])
  return log
}

/** The state of a log. Rerenders when it changes, at most once per frame. */
export function useLogState(log: SessionLog): SessionLogState {
  const subscribe = useCallback((listener: () => void) => log.subscribe(listener), [log])
  const read = () => log.state
  return useSyncExternalStore(subscribe, read, read)
}
