import { useConnection, useSelector } from '@millrace/react'
import { errorText } from '../error-text.ts'

const LABELS: { readonly [status: string]: string } = {
  idle: 'Idle',
  connecting: 'Connecting',
  'catching-up': 'Catching up',
  live: 'Connected',

  offline: 'Offline',
}

/** The status of the connection, and the reason where it is not connected. */
export function ConnectionBadge() {
  const { status, reason } = useConnection()
  const failed = useSelector(({ state }) => (state.connection.status === 'offline' ? state.error?.code : undefined))
  const isFine = status === 'live' || status === 'idle'
  // The connection works, but the session was deleted.
  const label = failed === 'session_unknown' ? 'Deleted' : (LABELS[status] ?? status)
  return (
    <p className="connection" role="status" data-status={status} title={reason}>
      <span className="dot" data-state={status} />
      {label}
      <span className={isFine ? 'hidden' : 'reason'}>{errorText({ code: failed, message: reason })}</span>
    </p>
  )
}
