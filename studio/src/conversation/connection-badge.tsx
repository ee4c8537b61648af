import { useConnection, useSelector } from '@millrace/react'
import { errorText } from '../error-text.ts'

const LABELS: { readonly [status: string]: string } = {
  connecting: 'Connecting',
  'catching-up': 'Catching up',
  live: 'Connected',
  offline: 'Offline',
}

/** The status of the connection, and the reason if it is not connected. Empty in a new chat, which has no connection yet. */
export function ConnectionBadge() {
  const { status, reason } = useConnection()
  const failed = useSelector(({ state }) => (state.connection.status === 'offline' ? state.error?.code : undefined))
  // The connection works, but the session was deleted.
  const label = failed === 'session_unknown' ? 'Deleted' : (LABELS[status] ?? status)
  // Other errors are final.
  const isRetrying = status === 'offline' && (failed === undefined || failed === 'network_error')
  return (
    <p className="connection" role="status" data-status={status} title={reason}>
      {status !== 'idle' && (
        <>
          <span className="dot" data-state={status} />
          {label}
          <span className={status === 'live' ? 'hidden' : 'reason'}>
            {errorText({ code: failed, message: reason })}
            {isRetrying && ' Reconnecting…'}
          </span>
        </>
      )}
    </p>
  )
}
