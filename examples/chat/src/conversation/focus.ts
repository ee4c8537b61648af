/** Puts the cursor where one types; not where that would bring a keyboard up over half of the screen. */
export function focusInput(): void {
  if (matchMedia('(hover: hover)').matches) document.getElementById('input')?.focus()
}
