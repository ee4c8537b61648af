import { useEffect, useState } from 'react'

interface CopyButtonProps {
  readonly name: string
  readonly isDisabled?: boolean
  readonly text: () => string
}

/** Copies a text and confirms it. */
export function CopyButton({ name, isDisabled, text }: CopyButtonProps) {
  const [result, setResult] = useState<string>()
  useEffect(() => {
    if (result === undefined) return
    const timer = setTimeout(() => setResult(undefined), 1500)
    return () => clearTimeout(timer)
  }, [result])
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text())
      setResult('Copied')
    } catch {
      setResult('Copy failed')
    }
  }
  return (
    <button type="button" disabled={isDisabled} onClick={() => void copy()}>
      <span aria-live="polite">{result ?? name}</span>
    </button>
  )
}
