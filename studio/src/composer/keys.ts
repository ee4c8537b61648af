import type { KeyboardEvent } from 'react'

/** Sends the form of a text at Enter; with Shift that is a new line, and to who composes a character it is a part of that. */
export function sendAtEnter(event: KeyboardEvent<HTMLTextAreaElement>): void {
  if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
  event.preventDefault()
  event.currentTarget.form?.requestSubmit()
}
