import { useChatActions, useChatInstance, useMessageIds, useSelector } from '@millrace/react'
import { useMemo } from 'react'
import { wordsOf } from '../words.ts'
import { Failure } from './failure.tsx'

/** What became of the latest run where no message says so, and what else went wrong. */
export function Outcome() {
  const run = useSelector(({ store }) => store.ledger.runs.at(-1))
  const { store } = useChatInstance()
  const ids = useMessageIds()
  const runId = run?.runId
  const isTold = useMemo(() => ids.some(id => store.message(id)?.runId === runId), [ids, store, runId])
  const error = useSelector(({ state: { error }, store }) => {
    const { messageId, runId, id } = (error?.details ?? {}) as { readonly [of: string]: string | undefined }
    const isWithMessage = messageId !== undefined && store.message(messageId)?.status === 'error'
    // That of a run stands with the run, and that of an answer where it was asked for.
    return isWithMessage || runId !== undefined || id !== undefined ? undefined : error
  })
  const { clearError } = useChatActions()
  return (
    <>
      {!isTold && run?.status === 'failed' && (
        <Failure error={run.error ?? { message: run.reason ?? 'The run failed.' }} />
      )}
      {!isTold && (run?.status === 'interrupted' || run?.status === 'aborted') && <p className="quiet">Stopped.</p>}
      {error && (
        <p className="failure" role="alert">
          <span>{wordsOf(error)}</span>
          <button type="button" onClick={clearError}>
            Dismiss
          </button>
        </p>
      )}
    </>
  )
}
