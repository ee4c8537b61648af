import { useEffect, useRef } from 'react'
import { focusInput } from '../conversation/focus.ts'

const KEYS: readonly (readonly [keys: string, what: string])[] = [
  ['Enter', 'send what is written'],
  ['Shift + Enter', 'begin a new line'],
  ['Escape', 'stop the answer, where one types; leave an edit'],
  ['← →', 'go through other versions, at their numbers'],
  ['/', 'go to where one types'],
  ['?', 'show these keys'],
]

const isWriting = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable]') !== null

/** The keys of this page, and what lists them. */
export function Shortcuts() {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isWriting(event.target)) return
      if (event.key === '?') dialog.current?.showModal()
      else if (event.key === '/' && !dialog.current?.open) focusInput()
      else return
      event.preventDefault()
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [])
  return (
    <dialog className="shortcuts" ref={dialog} aria-labelledby="shortcuts" closedby="any">
      <h2 id="shortcuts">Keys</h2>
      <dl>
        {KEYS.map(([keys, what]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <form method="dialog">
        <button type="submit">Close</button>
      </form>
    </dialog>
  )
}
