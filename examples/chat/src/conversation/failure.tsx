import { useChatActions } from '@millrace/react'

interface FailureProps {
  /** The message that it is about; the last turn, if there is none. */
  readonly messageId?: string
  readonly error: { readonly code?: string | undefined; readonly message: string }
}

/** What went wrong, and the way to try again. */
export function Failure({ messageId, error: { code, message } }: FailureProps) {
  const { retry } = useChatActions()
  return (
    <p className="failure" role="alert">
      <span>
        {message} {code !== undefined && <code>{code}</code>}
      </span>
      <button type="button" onClick={() => void retry(messageId)}>
        Retry
      </button>
    </p>
  )
}
