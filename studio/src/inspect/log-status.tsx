import { useLogState } from '@millrace/react/log'
import { errorText } from '../error-text.ts'
import { useInspectedLog } from './inspected-log.ts'

/** The inspector cannot start a deleted chat again, and its address may never have named one. */
const textOf = (error: { readonly code?: string | undefined; readonly message: string }): string =>
  error.code === 'session_unknown' ? 'There is no chat with this id.' : errorText(error)

/** The number of loaded entries and the connection status. */
export function LogStatus() {
  const log = useInspectedLog()
  const { count, status, reason, error } = useLogState(log)
  const state = log.isRecording ? 'recording' : status
  return (
    <p className="log-status quiet" data-status={state}>
      <span className="dot" data-state={state} />
      <span title={reason}>
        {error
          ? textOf(error)
          : `${count.toLocaleString('en')} ${count === 1 ? 'entry' : 'entries'}, ${state.replace('-', ' ')}`}
      </span>
    </p>
  )
}
