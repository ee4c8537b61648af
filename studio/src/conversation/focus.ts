// Not where that would bring a keyboard up over half of the screen.
const canFocus = () => matchMedia('(hover: hover)').matches

const input = () => document.querySelector<HTMLTextAreaElement>('#input')

/** Puts the cursor where one types. */
export function focusInput(): void {
  if (canFocus()) input()?.focus()
}

/**
 * Goes on to a question: to what is to be written there, else to the question itself, where no key that is pressed by mistake answers it.
 * Where there is none, to where one types; and never away from who is writing something.
 */
export function focusAsking(id: string | undefined): void {
  const { activeElement: at } = document
  const isSent = at?.querySelector(':scope > fieldset:disabled') || at?.closest('fieldset:disabled')
  const isFree = at === null || at === document.body || isSent || (at === input() && input()?.value === '')
  if (!canFocus() || !isFree) return
  const form = id === undefined ? null : document.querySelector<HTMLElement>(`[data-asking="${CSS.escape(id)}"]`)
  const field = form?.querySelector<HTMLElement>('[required]')
  const place = field ?? form ?? input()
  place?.focus()
}
