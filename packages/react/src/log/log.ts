import type { ChatConnection } from '@millrace/client'
import { type Recording, SessionLog, type SessionLogState } from '@millrace/client/log'
import { useCallback, useEffect, useMemo, useSyncExternalStore } from 'react'

/** The log of a session, followed for as long as it is shown; or that of a recording. */
export function useLog(
  of: { readonly session: string; readonly connection: ChatConnection } | { readonly recording: Recording },
): SessionLog {
  const { session, connection } = 'session' in of ? of : { session: '', connection: undefined }
  const recording = 'recording' in of ? of.recording : undefined
  const log = useMemo(
    () => new SessionLog(recording ?? { sessionId: session, connection }),
    [recording, session, connection],
  )
  useEffect(() => {
    const leave = log.start()
    // Whoever comes back at once, as in StrictMode, finds it still under way.
    return () => queueMicrotask(leave)
  }, [log])
  return log
}

/** How it stands with a log: renders again when that changes, at most once a frame. */
export function useLogState(log: SessionLog): SessionLogState {
  const subscribe = useCallback((listener: () => void) => log.subscribe(listener), [log])
  const read = () => log.state
  return useSyncExternalStore(subscribe, read, read)
}
