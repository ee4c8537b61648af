import { useConnection } from '@millrace/react'
import { wordsOf } from '../words.ts'

/** How it stands with the connection, and why. */
export function ConnectionBadge() {
  const { status, reason } = useConnection()
  const isFine = status === 'live' || status === 'idle'
  return (
    <p className="connection" role="status" data-status={status} title={reason}>
      <span className="dot" data-state={status} />
      {status.replace('-', ' ')}
      <span className={isFine ? 'hidden' : 'reason'}>{wordsOf({ message: reason })}</span>
    </p>
  )
}
