import { useConnection, useSelector } from '@millrace/react'
import { wordsOf } from '../words.ts'

/** How it stands with the connection, and why. */
export function ConnectionBadge() {
  const { status, reason } = useConnection()
  const failed = useSelector(({ state }) => (state.connection.status === 'offline' ? state.error?.code : undefined))
  const isFine = status === 'live' || status === 'idle'
  // Nothing is wrong with the connection to what is not there any more.
  const word = failed === 'session_unknown' ? 'gone' : status.replace('-', ' ')
  return (
    <p className="connection" role="status" data-status={status} title={reason}>
      <span className="dot" data-state={status} />
      {word}
      <span className={isFine ? 'hidden' : 'reason'}>{wordsOf({ code: failed, message: reason })}</span>
    </p>
  )
}
