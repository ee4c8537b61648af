import { useRef } from 'react'

interface FileButtonProps {
  readonly onFile: (file: File) => void
  readonly className?: string
  readonly children: string
}

/** A button that opens the file picker. */
export function FileButton({ onFile, className, children }: FileButtonProps) {
  const input = useRef<HTMLInputElement>(null)
  return (
    <>
      <input
        ref={input}
        type="file"
        accept=".jsonl,.ndjson,application/x-ndjson"
        hidden
        onChange={({ target }) => {
          const file = target.files?.[0]
          if (file) onFile(file)
          // Choosing the same file again must trigger a change event.
          target.value = ''
        }}
      />
      <button type="button" className={className} onClick={() => input.current?.click()}>
        {children}
      </button>
    </>
  )
}
