import { useChatActions, useSelector } from '@millrace/react'
import { Failure } from './failure.tsx'

/** What became of the latest run where no message says so, and what else went wrong. */
export function Outcome() {
  const run = useSelector(({ store }) => store.ledger.runs.at(-1))
  const isTold = useSelector(({ store }) => store.messageIds.some(id => store.message(id)?.runId === run?.runId))
  const error = useSelector(({ state }) => state.error)
  const { clearError } = useChatActions()
  return (
    <>
      {!isTold && run?.status === 'failed' && (
        <Failure error={run.error ?? { message: run.reason ?? 'The run failed.' }} />
      )}
      {!isTold && (run?.status === 'interrupted' || run?.status === 'aborted') && <p className="quiet">Stopped.</p>}
      {error && error.source !== 'send' && (
        <p className="failure" role="alert">
          <span>{error.message}</span>
          <button type="button" onClick={clearError}>
            Dismiss
          </button>
        </p>
      )}
    </>
  )
}
