import type { ChatAnswer } from '@millrace/client'
import { type ReactNode, useId, useState } from 'react'
import { useAnswering } from './answering.ts'

interface PendingFormProps {
  /** Id of the pending. */
  readonly id: string
  readonly kind: string
  readonly title: string
  readonly children: ReactNode
  /** Builds the answer from the form data and the value of the submit button. */
  readonly read: (form: FormData, button: string) => ChatAnswer
}

/** A form that answers a pending. A rejected answer shows its reason and can be sent again. */
export function PendingForm({ id, kind, title, children, read }: PendingFormProps) {
  const { answer, rejected } = useAnswering()
  const [isSending, setSending] = useState(false)
  const titleId = useId()
  return (
    <form
      className="pending"
      data-kind={kind}
      data-pending={id}
      aria-labelledby={titleId}
      tabIndex={-1}
      onSubmit={async event => {
        event.preventDefault()
        const { submitter } = event.nativeEvent as SubmitEvent
        const value = read(new FormData(event.currentTarget), (submitter as HTMLButtonElement | null)?.value ?? '')
        setSending(true)
        const isAccepted = await answer(value)
        // An accepted answer settles the pending, and the form is unmounted.
        if (!isAccepted) setSending(false)
      }}
    >
      <fieldset disabled={isSending}>
        <h3 id={titleId}>{title}</h3>
        {children}
        {rejected?.id === id && (
          <p className="failure" role="alert">
            {rejected.message}
          </p>
        )}
      </fieldset>
    </form>
  )
}
