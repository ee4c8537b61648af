import type { KeyboardEvent } from 'react'

/** Submits the form of a text area on Enter. Shift+Enter adds a line; Enter in an input method editor does not submit. */
export function submitOnEnter(event: KeyboardEvent<HTMLTextAreaElement>): void {
  if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
  event.preventDefault()
  event.currentTarget.form?.requestSubmit()
}
