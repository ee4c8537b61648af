import { useEffect, useRef } from 'react'
import { focusInput } from '../conversation/focus.ts'

const KEYS: readonly (readonly [keys: string, description: string])[] = [
  ['Enter', 'Send the message'],
  ['Shift + Enter', 'New line'],
  ['Esc', 'Stop the response, or cancel an edit'],
  ['← →', 'Previous or next version'],
  ['/', 'Focus the message input'],
  ['?', 'Show keyboard shortcuts'],
]

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable]') !== null

/** Handles keyboard shortcuts and shows the list of them. */
export function Shortcuts() {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
      if (event.key === '?') dialog.current?.showModal()
      else if (event.key === '/' && !dialog.current?.open) focusInput()
      else return
      event.preventDefault()
    }
    addEventListener('keydown', onKeyDown)
    return () => removeEventListener('keydown', onKeyDown)
  }, [])
  return (
    <dialog className="shortcuts" ref={dialog} aria-labelledby="shortcuts" closedby="any">
      <h2 id="shortcuts">Keyboard shortcuts</h2>
      <dl>
        {KEYS.map(([keys, description]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{description}</dd>
          </div>
        ))}
      </dl>
      <form method="dialog">
        <button type="submit">Close</button>
      </form>
    </dialog>
  )
}
