import { useRef } from 'react'

interface ListProps {
  readonly files: readonly File[]
  readonly onChange: (files: readonly File[]) => void
}

/** The attached files. */
function List({ files, onChange }: ListProps) {
  if (files.length === 0) return null
  return (
    <ul className="attachments" aria-label="Attached files">
      {files.map((file, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: two files may have one name
        <li key={i}>
          {file.name}
          <button
            type="button"
            aria-label={`Remove ${file.name}`}
            onClick={() => onChange(files.filter(other => other !== file))}
          >
            ✕
          </button>
        </li>
      ))}
    </ul>
  )
}

/** Adds files. */
function Button({ onAdd }: { readonly onAdd: (files: readonly File[]) => void }) {
  const input = useRef<HTMLInputElement>(null)
  return (
    <>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        onChange={({ target }) => {
          onAdd([...(target.files ?? [])])
          target.value = ''
        }}
      />
      <button
        type="button"
        className="attach"
        aria-label="Attach files"
        title="Attach files"
        onClick={() => input.current?.click()}
      >
        +
      </button>
    </>
  )
}

export const Attachments = { List, Button }
