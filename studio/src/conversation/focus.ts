// On touch devices focus would open the on-screen keyboard.
const canFocus = () => matchMedia('(hover: hover)').matches

const input = () => document.querySelector<HTMLTextAreaElement>('#input')

/** Focuses the message input. */
export function focusInput(): void {
  if (canFocus()) input()?.focus()
}

/**
 * Focuses the form of a pending: its first required field, else the form itself, so that a stray key press submits nothing.
 * Without a pending, focuses the message input. Does nothing while the user types elsewhere.
 */
export function focusPending(id: string | undefined): void {
  const { activeElement: at } = document
  const isSent = at?.querySelector(':scope > fieldset:disabled') || at?.closest('fieldset:disabled')
  const isFree = at === null || at === document.body || isSent || (at === input() && input()?.value === '')
  if (!canFocus() || !isFree) return
  const form = id === undefined ? null : document.querySelector<HTMLElement>(`[data-pending="${CSS.escape(id)}"]`)
  const field = form?.querySelector<HTMLElement>('[required]')
  const target = field ?? form ?? input()
  target?.focus()
}
