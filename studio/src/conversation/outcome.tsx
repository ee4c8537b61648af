import { useChatActions, useChatInstance, useMessageIds, useSelector } from '@millrace/react'
import { useMemo } from 'react'
import { errorText } from '../error-text.ts'
import { Failure } from './failure.tsx'

/** The outcome of the last run where no message shows it, and other errors. */
export function Outcome() {
  const run = useSelector(({ store }) => store.ledger.runs.at(-1))
  const { store } = useChatInstance()
  const ids = useMessageIds()
  const runId = run?.runId
  const hasMessage = useMemo(() => ids.some(id => store.message(id)?.runId === runId), [ids, store, runId])
  const error = useSelector(({ state: { error }, store }) => {
    const { messageId, runId, id } = (error?.details ?? {}) as { readonly [field: string]: string | undefined }
    const isWithMessage = messageId !== undefined && store.message(messageId)?.status === 'error'
    // The error of a run is shown with the run, that of an answer with its form.
    return isWithMessage || runId !== undefined || id !== undefined ? undefined : error
  })
  const { clearError } = useChatActions()
  return (
    <>
      {!hasMessage && run?.status === 'failed' && (
        <Failure error={run.error ?? { message: run.reason ?? 'The run failed.' }} />
      )}
      {!hasMessage && (run?.status === 'interrupted' || run?.status === 'aborted') && <p className="quiet">Stopped.</p>}
      {error && (
        <p className="failure" role="alert">
          <span>{errorText(error)}</span>
          <button type="button" onClick={clearError}>
            Dismiss
          </button>
        </p>
      )}
    </>
  )
}
