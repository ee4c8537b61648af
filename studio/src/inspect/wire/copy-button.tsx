import { useCopy } from '../../use-copy.ts'

interface CopyButtonProps {
  readonly name: string
  readonly isDisabled?: boolean
  readonly text: () => string
}

/** Copies a text and confirms it. */
export function CopyButton({ name, isDisabled, text }: CopyButtonProps) {
  const { result, copy } = useCopy()
  if (copy === undefined) return null
  return (
    <button type="button" disabled={isDisabled} onClick={() => copy(text())}>
      <span aria-live="polite">{result ?? name}</span>
    </button>
  )
}
