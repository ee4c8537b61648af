import { useEffect, useState } from 'react'

interface CopyButtonProps {
  readonly name: string
  readonly isDisabled?: boolean
  readonly text: () => string
}

/** Puts a text on the clipboard, and says that it did. */
export function CopyButton({ name, isDisabled, text }: CopyButtonProps) {
  const [said, say] = useState<string>()
  useEffect(() => {
    if (said === undefined) return
    const timer = setTimeout(() => say(undefined), 1500)
    return () => clearTimeout(timer)
  }, [said])
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text())
      say('Copied')
    } catch {
      say('The browser does not let it')
    }
  }
  return (
    <button type="button" disabled={isDisabled} onClick={() => void copy()}>
      <span aria-live="polite">{said ?? name}</span>
    </button>
  )
}
