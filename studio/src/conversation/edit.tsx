import { type FormEvent, useEffect, useRef, useState } from 'react'
import { submitOnEnter } from '../composer/submit-on-enter.ts'

interface EditProps {
  readonly text: string
  readonly onDone: (text: string) => void
  readonly onCancel: () => void
}

/** The form that edits a sent message. */
export function Edit({ text, onDone, onCancel }: EditProps) {
  const [value, setValue] = useState(text)
  const input = useRef<HTMLTextAreaElement>(null)
  useEffect(() => input.current?.focus(), [])
  const submit = (event: FormEvent) => {
    event.preventDefault()
    onDone(value)
  }
  return (
    <form className="edit" onSubmit={submit}>
      <textarea
        ref={input}
        aria-label="Your message"
        required
        value={value}
        onChange={event => setValue(event.target.value)}
        onKeyDown={event => (event.key === 'Escape' ? onCancel() : submitOnEnter(event))}
      />
      <p className="quiet">Sending replaces this message and all later ones.</p>
      <div className="row">
        <button type="button" onClick={onCancel}>
          Cancel
        </button>
        <button type="submit" className="primary">
          Send
        </button>
      </div>
    </form>
  )
}
