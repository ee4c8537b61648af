import { useLogState } from '@millrace/react/log'
import { errorText } from '../error-text.ts'
import { useInspected } from './inspected.ts'

/** The number of loaded entries and the connection status. */
export function LogStatus() {
  const log = useInspected()
  const { count, status, reason, error } = useLogState(log)
  const state = log.isRecording ? 'recording' : status
  return (
    <p className="standing quiet" data-status={state}>
      <span className="dot" data-state={state} />
      <span>
        {count.toLocaleString('en')} {count === 1 ? 'entry' : 'entries'},{' '}
        <span title={reason}>{error ? errorText(error) : state}</span>
      </span>
    </p>
  )
}
