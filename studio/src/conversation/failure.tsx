import { useChatActions } from '@millrace/react'
import { useReadOnly } from '../app/read-only.ts'
import { wordsOf } from '../words.ts'

interface FailureProps {
  /** The message that it is about; the last turn, if there is none. */
  readonly messageId?: string
  readonly error: { readonly code?: string | undefined; readonly message: string }
}

/** What went wrong, and the way to try again. */
export function Failure({ messageId, error }: FailureProps) {
  const { retry } = useChatActions()
  const isReadOnly = useReadOnly()
  return (
    <p className="failure" role="alert">
      <span title={error.code}>{wordsOf(error)}</span>
      {!isReadOnly && (
        <button type="button" onClick={() => void retry(messageId)}>
          Retry
        </button>
      )}
    </p>
  )
}
