import type { ChatAnswer } from '@millrace/client'
import { type ReactNode, useId, useState } from 'react'
import { useAnswering } from './answering.ts'

interface AskingProps {
  /** Of what it answers. */
  readonly id: string
  readonly kind: string
  readonly title: string
  readonly children: ReactNode
  /** The answer, of what the form holds and of the button that sent it. */
  readonly read: (form: FormData, button: string) => ChatAnswer
}

/** A form that answers a pending, once; what the server refuses is told, and can be said otherwise. */
export function Asking({ id, kind, title, children, read }: AskingProps) {
  const { answer, refused } = useAnswering()
  const [isSending, setSending] = useState(false)
  const titleId = useId()
  return (
    <form
      className="asking"
      data-kind={kind}
      data-asking={id}
      aria-labelledby={titleId}
      tabIndex={-1}
      onSubmit={async event => {
        event.preventDefault()
        const { submitter } = event.nativeEvent as SubmitEvent
        const said = read(new FormData(event.currentTarget), (submitter as HTMLButtonElement | null)?.value ?? '')
        setSending(true)
        const isTaken = await answer(said)
        // What was taken goes; what was not can be said otherwise.
        if (!isTaken) setSending(false)
      }}
    >
      <fieldset disabled={isSending}>
        <h3 id={titleId}>{title}</h3>
        {children}
        {refused?.id === id && (
          <p className="failure" role="alert">
            {refused.words}
          </p>
        )}
      </fieldset>
    </form>
  )
}
