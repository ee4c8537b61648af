import type { ChatAnswer } from '@millrace/client'
import { usePending } from '@millrace/react'
import { type ReactNode, useId, useState } from 'react'
import { focusInput } from '../conversation/focus.ts'

interface AskingProps {
  readonly kind: string
  readonly title: string
  readonly children: ReactNode
  /** The answer, of what the form holds and of the button that sent it. */
  readonly read: (form: FormData, button: string) => ChatAnswer
}

/** A form that answers a pending, once; what the server refuses is told, and can be said otherwise. */
export function Asking({ kind, title, children, read }: AskingProps) {
  const { answer } = usePending()
  const [isSending, setSending] = useState(false)
  const [problem, setProblem] = useState<string>()
  const id = useId()
  return (
    <form
      className="asking"
      data-kind={kind}
      aria-labelledby={id}
      onSubmit={async event => {
        event.preventDefault()
        const { submitter } = event.nativeEvent as SubmitEvent
        const said = read(new FormData(event.currentTarget), (submitter as HTMLButtonElement | null)?.value ?? '')
        setSending(true)
        setProblem(undefined)
        try {
          await answer(said)
          focusInput()
        } catch (error) {
          setProblem(error instanceof Error ? error.message : String(error))
          setSending(false)
        }
      }}
    >
      <fieldset disabled={isSending}>
        <h3 id={id}>{title}</h3>
        {children}
        {problem !== undefined && (
          <p className="failure" role="alert">
            {problem}
          </p>
        )}
      </fieldset>
    </form>
  )
}
