import { useChatActions } from '@millrace/react'
import { useReadOnly } from '../app/read-only.ts'
import { errorText } from '../error-text.ts'

interface FailureProps {
  /** The message that failed. @default the last turn */
  readonly messageId?: string
  readonly error: { readonly code?: string | undefined; readonly message: string }
}

/** An error with a button to retry. */
export function Failure({ messageId, error }: FailureProps) {
  const { retry } = useChatActions()
  const isReadOnly = useReadOnly()
  return (
    <p className="failure" role="alert">
      <span title={error.code}>{errorText(error)}</span>
      {!isReadOnly && (
        <button type="button" onClick={() => void retry(messageId)}>
          Retry
        </button>
      )}
    </p>
  )
}
